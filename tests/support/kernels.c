/* Kernels for tests, in the calling convention of compiled ones (schedules/contract/kernel.h) but
 * written by hand: the runtime can be tested without Halide. Freestanding, no writable data; linked
 * into a relocation-free image by image.ld. */
#include <stdint.h>

typedef struct {
    int32_t min, extent, stride;
    uint32_t flags;
} Dim;
typedef struct {
    uint64_t device;
    const void *interface;
    uint8_t *host;
    uint64_t flags;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } type;
    int32_t dimensions;
    Dim *dim;
    void *padding;
} Buffer;
typedef struct {
    char *base;
    uint64_t size, used;
} Scratch;

static Buffer *buffer(void **args, int i) { return args[i]; }
static float *floats(void **args, int i) { return (float *)buffer(args, i)->host; }
static int number(void **args, int i) { return *(int32_t *)args[i]; }

/* y[w, r] = x[w, r] · gain[0] */
int test_scale(void **args) {
    Buffer *x = buffer(args, 1), *y = buffer(args, 3);
    const float gain = floats(args, 2)[0];
    for (int r = 0; r < y->dim[1].extent; ++r)
        for (int w = 0; w < y->dim[0].extent; ++w)
            ((float *)y->host)[r * y->dim[1].stride + w * y->dim[0].stride] =
                ((float *)x->host)[r * x->dim[1].stride + w * x->dim[0].stride] * gain;
    return 0;
}

/* y[r] = Σ_k taps[k] · x[position + r − k mod ring] */
int test_fir(void **args) {
    Buffer *x = buffer(args, 1), *taps = buffer(args, 2), *y = buffer(args, 4);
    const int position = number(args, 3), ring = x->dim[0].extent;
    for (int r = 0; r < y->dim[0].extent; ++r) {
        float sum = 0;
        for (int k = 0; k < taps->dim[0].extent; ++k)
            sum += ((float *)taps->host)[k] * ((float *)x->host)[(position + r - k + 2 * ring) % ring];
        ((float *)y->host)[r] = sum;
    }
    return 0;
}

/* sum[0] += Σ x, in place; y[0, j] = sum + j, j over the width */
int test_running_sum(void **args) {
    Buffer *x = buffer(args, 1), *y = buffer(args, 3);
    double sum = *(double *)buffer(args, 2)->host;
    for (int r = 0; r < x->dim[0].extent; ++r) sum += ((float *)x->host)[r];
    *(double *)buffer(args, 2)->host = sum;
    for (int w = 0; w < y->dim[0].extent; ++w) ((float *)y->host)[w] = (float)sum + (float)w;
    return 0;
}

/* out[i] = in[i]², through scratch: fails when it does not get any, or gets it unaligned */
int test_square(void **args) {
    Buffer *in = buffer(args, 1), *out = buffer(args, 2);
    Scratch *scratch = *(Scratch **)args[0];
    const uint64_t bytes = (uint64_t)in->dim[0].extent * 4;
    if (scratch->used != 0 || scratch->size < bytes || ((uintptr_t)scratch->base & 63) != 0) return -1;
    float *copy = (float *)(scratch->base + scratch->used);
    scratch->used += (bytes + 63) & ~63ull;
    for (int i = 0; i < in->dim[0].extent; ++i) copy[i] = ((float *)in->host)[i];
    for (int i = 0; i < in->dim[0].extent; ++i) ((float *)out->host)[i] = copy[i] * copy[i];
    return 0;
}

/* y[w, r] = table[w, ids[r]] */
int test_embedding(void **args) {
    Buffer *ids = buffer(args, 1), *table = buffer(args, 2), *y = buffer(args, 3);
    for (int r = 0; r < y->dim[1].extent; ++r)
        for (int w = 0; w < y->dim[0].extent; ++w)
            ((float *)y->host)[r * y->dim[1].stride + w] =
                ((float *)
                     table->host)[((int32_t *)ids->host)[r * ids->dim[0].stride] * table->dim[1].stride + w];
    return 0;
}

/* y[w] = mean of x[w, 0 … length) */
int test_mean(void **args) {
    Buffer *x = buffer(args, 1), *y = buffer(args, 3);
    const int length = number(args, 2);
    for (int w = 0; w < y->dim[0].extent; ++w) {
        float sum = 0;
        for (int r = 0; r < length; ++r) sum += ((float *)x->host)[r * x->dim[1].stride + w];
        ((float *)y->host)[w] = length > 0 ? sum / (float)length : 0;
    }
    return 0;
}

/* y[0] = the scalar */
int test_number(void **args) {
    floats(args, 2)[0] = (float)number(args, 1);
    return 0;
}

/* copies x to y and fails when x[0] > 1000 */
int test_fuse(void **args) {
    Buffer *x = buffer(args, 1), *y = buffer(args, 2);
    for (int i = 0; i < y->dim[0].extent; ++i) ((float *)y->host)[i] = ((float *)x->host)[i];
    return floats(args, 1)[0] > 1000 ? -3 : 0;
}

/* y[r] = total[0] += x[r], in place */
int test_accumulate(void **args) {
    Buffer *x = buffer(args, 1), *y = buffer(args, 3);
    double *total = (double *)buffer(args, 2)->host;
    for (int r = 0; r < x->dim[0].extent; ++r) {
        *total += ((float *)x->host)[r];
        ((float *)y->host)[r] = (float)*total;
    }
    return 0;
}
