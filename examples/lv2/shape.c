#include "shape.h"
#include <dirent.h>
#include <longwave/pack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0: no memory. */
static int add_name(Shapes *shapes, const char *name) {
    char **more = realloc(shapes->names, (shapes->n + 1) * sizeof *more);
    if (!more) return 0;
    shapes->names = more;
    shapes->names[shapes->n] = strdup(name);
    return shapes->names[shapes->n] ? (shapes->n++, 1) : 0;
}

/* By insertion: a bundle has tens of files, and qsort has no place for `order`. */
static void sort(Shapes *shapes, int (*order)(const char *, const char *)) {
    for (size_t i = 1; i < shapes->n; i++)
        for (size_t j = i; j > 0 && order(shapes->names[j - 1], shapes->names[j]) > 0; j--) {
            char *name = shapes->names[j];
            shapes->names[j] = shapes->names[j - 1];
            shapes->names[j - 1] = name;
        }
}

Shapes *shapes_open(const char *bundle, double rate, const Naming *naming, char reason[REASON]) {
    Shapes *shapes = calloc(1, sizeof *shapes);
    if (!shapes) return snprintf(reason, REASON, "no memory for its shapes"), NULL;
    shapes->bundle = strdup(bundle);
    shapes->rate = rate;
    int good = shapes->bundle != NULL;
    DIR *folder = opendir(bundle);
    for (struct dirent *entry; folder && good && (entry = readdir(folder));)
        if (naming->takes(entry->d_name)) good = add_name(shapes, entry->d_name);
    if (folder) closedir(folder);
    sort(shapes, naming->order);
    if (good && shapes->n) return shapes;
    if (good) snprintf(reason, REASON, "has no shape %s", naming->pattern);
    else snprintf(reason, REASON, "no memory for its shapes");
    shapes_close(shapes);
    return NULL;
}

void shapes_close(void *of) {
    Shapes *shapes = of;
    for (size_t i = 0; i < shapes->n; i++) free(shapes->names[i]);
    free(shapes->names);
    free(shapes->bundle);
    free(shapes);
}

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
