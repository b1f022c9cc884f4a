#include "shape.h"
#include <longwave/pack.h>
#include <stdio.h>
#include <stdlib.h>

void *shape_read(const char *bundle, const char *name, size_t *bytes, char reason[REASON]) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", bundle, name) >= (int)sizeof path)
        return snprintf(reason, REASON, "the path of the bundle is too long"), NULL;
    FILE *file = fopen(path, "rb");
    void *made = NULL;
    long size = -1;
    if (file && !fseek(file, 0, SEEK_END) && (size = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET))
        made = malloc((size_t)size);
    if (made && fread(made, 1, (size_t)size, file) != (size_t)size) {
        free(made);
        made = NULL;
    }
    if (file) fclose(file);
    if (!made) snprintf(reason, REASON, "%.200s of the bundle cannot be read", name);
    *bytes = (size_t)size;
    return made;
}

lw_model *shape_pack(const void *shape, size_t shape_bytes, const void *weights, size_t weights_bytes,
                     char reason[REASON]) {
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1; /* the user installed the bundle */
    lw_pack_options how = LW_PACK_OPTIONS_INIT;
    how.open = &open;
    void *packed = NULL;
    size_t bytes;
    lw_model *model = NULL;
    lw_status status = lw_pack(shape, shape_bytes, weights, weights_bytes, &how, NULL, &packed, &bytes);
    if (!status) status = lw_model_open_memory(packed, bytes, &open, &model);
    if (status) snprintf(reason, REASON, "%s: %s", lw_status_text(status), lw_last_error());
    lw_pack_free(packed);
    return model;
}
