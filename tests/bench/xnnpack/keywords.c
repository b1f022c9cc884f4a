/* The layers of examples/kws/model after its front end, as calls of XNNPACK: what this library
 * executes for a block of 20 ms. Weights are random, for instructions do not depend on them.
 *
 *   keywords BLOCKS
 *
 * In the library's favour: normalizations are folded into weights, and GELU is left out, which this
 * version does not have. A kernel of 64 taps is three depthwise convolutions of 25 taps, the longest
 * that it has a kernel for: any other length takes a product per channel, and six times as many
 * instructions. Rows of the past lie twice in memory, so that no call wraps around.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

enum {
    bands = 40,
    channels = 96,
    layers = 6,
    piece_taps = 25,
    pieces = 3,
    taps = pieces * piece_taps,
    words = 12
};

static void check(enum xnn_status status, const char *what) {
    if (status == xnn_status_success) return;
    fprintf(stderr, "%s: status %d\n", what, (int)status);
    exit(1);
}

static float *numbers(size_t n) {
    float *values = malloc((n + 16) * sizeof *values); /* kernels may read beyond the end */
    if (!values) exit(1);
    for (size_t i = 0; i < n + 16; i++) values[i] = 0.05f * (float)(rand() % 2001 - 1000) / 1000;
    return values;
}

/* `past` rows of which the newest is written last, without a wrap. */
typedef struct {
    float *rows;
    size_t width, past, at;
} Ring;

static Ring new_ring(size_t width, size_t past) { return (Ring){numbers(2 * width * past), width, past, 0}; }
static float *newest(Ring *ring) { return ring->rows + ring->at * ring->width; }
/* The newest row is complete: `past` rows from the oldest on. */
static const float *advance(Ring *ring) {
    memcpy(ring->rows + (ring->at + ring->past) * ring->width, newest(ring),
           ring->width * sizeof *ring->rows);
    ring->at = (ring->at + 1) % ring->past;
    return ring->rows + ring->at * ring->width;
}

/* A convolution over `height` rows in time and `width` in frequency that gives one row. */
typedef struct {
    uint32_t height, width, stride, pad, groups;
    size_t in, out; /* channels of a group */
    float least;    /* 0: ReLU */
} Shape;

static xnn_operator_t convolution(Shape s) {
    xnn_operator_t made = NULL;
    const size_t n = s.groups * s.out;
    check(xnn_create_convolution2d_nhwc_f32(0, s.pad, 0, s.pad, s.height, s.width, s.height, s.stride, 1, 1,
                                            s.groups, s.in, s.out, s.groups * s.in, n,
                                            numbers(n * s.in * s.height * s.width), numbers(n), s.least,
                                            INFINITY, 0, &made),
          "convolution");
    return made;
}

static xnn_operator_t product(size_t in, size_t out) {
    xnn_operator_t made = NULL;
    check(xnn_create_fully_connected_nc_f32(in, out, in, out, numbers(in * out), numbers(out), -INFINITY,
                                            INFINITY, 0, &made),
          "product");
    return made;
}

static void convolve(xnn_operator_t op, size_t height, size_t width, const float *from, float *to) {
    check(xnn_setup_convolution2d_nhwc_f32(op, 1, height, width, from, to, NULL), "set-up of a convolution");
    check(xnn_run_operator(op, NULL), "convolution");
}
static void multiply_matrix(xnn_operator_t op, const float *from, float *to) {
    check(xnn_setup_fully_connected_nc_f32(op, 1, from, to, NULL), "set-up of a product");
    check(xnn_run_operator(op, NULL), "product");
}
static void add(xnn_operator_t op, const float *a, const float *b, float *to) {
    const size_t n = channels;
    check(xnn_setup_add_nd_f32(op, 1, &n, 1, &n, a, b, to, NULL), "set-up of a sum");
    check(xnn_run_operator(op, NULL), "sum");
}

static xnn_operator_t conv1, depthwise, pointwise, project, convolutions[layers][pieces], gates[layers], plus,
    times, sigmoid, head, softmax;
static Ring frames, features, pasts[layers];

static void create(void) {
    conv1 = convolution((Shape){4, 5, 2, 2, 1, 1, 16, 0});
    depthwise = convolution((Shape){3, 3, 2, 1, 16, 1, 1, -INFINITY});
    pointwise = convolution((Shape){1, 1, 1, 0, 1, 16, 32, 0});
    project = product(320, channels);
    for (int i = 0; i < layers; i++) {
        for (int piece = 0; piece < pieces; piece++)
            convolutions[i][piece] = convolution((Shape){piece_taps, 1, 1, 0, channels, 1, 1, -INFINITY});
        gates[i] = product(channels, 2 * channels);
        pasts[i] = new_ring(channels, taps);
    }
    head = product(channels, words);
    check(xnn_create_add_nd_f32(-INFINITY, INFINITY, 0, &plus), "sum");
    check(xnn_create_multiply_nd_f32(-INFINITY, INFINITY, 0, &times), "product of vectors");
    check(xnn_create_sigmoid_nc_f32(channels, channels, channels, 0, &sigmoid), "sigmoid");
    check(xnn_create_softmax_nc_f32(words, words, words, 0, &softmax), "softmax");
    frames = new_ring(bands, 4);
    features = new_ring(20 * 16, 3);
}

static void block(float *row, float *scores) {
    static float one[channels + 16], two[channels + 16], wide[320 + 16], both[2 * channels + 16];
    const size_t n = channels;
    advance(&frames);
    convolve(conv1, 4, bands, advance(&frames), newest(&features));
    convolve(depthwise, 3, 20, advance(&features), both);
    convolve(pointwise, 1, 10, both, wide);
    multiply_matrix(project, wide, row);
    for (int i = 0; i < layers; i++) {
        memcpy(newest(&pasts[i]), row, channels * sizeof *row);
        const float *past = advance(&pasts[i]);
        convolve(convolutions[i][0], piece_taps, 1, past, one);
        for (int piece = 1; piece < pieces; piece++) {
            convolve(convolutions[i][piece], piece_taps, 1, past + piece * piece_taps * channels, two);
            add(plus, one, two, one);
        }
        multiply_matrix(gates[i], one, both);
        check(xnn_setup_sigmoid_nc_f32(sigmoid, 1, both + channels, two, NULL), "set-up of a sigmoid");
        check(xnn_run_operator(sigmoid, NULL), "sigmoid");
        check(xnn_setup_multiply_nd_f32(times, 1, &n, 1, &n, both, two, one, NULL),
              "set-up of a product of vectors");
        check(xnn_run_operator(times, NULL), "product of vectors");
        add(plus, row, one, row);
    }
    multiply_matrix(head, row, one);
    check(xnn_setup_softmax_nc_f32(softmax, 1, one, scores, NULL), "set-up of a softmax");
    check(xnn_run_operator(softmax, NULL), "softmax");
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    float row[channels + 16] = {0}, scores[words + 16], sum = 0;
    check(xnn_initialize(NULL), "XNNPACK");
    create();
    for (int n = atoi(argv[1]); n > 0; n--) block(row, scores);
    for (int i = 0; i < words; i++) sum += scores[i];
    printf("sum of the last scores: %.3f\n", sum);
    return 0;
}
