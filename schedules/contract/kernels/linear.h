// Matrices times the features of a row, and kernels over a vocabulary.
#pragma once
#include "schedules/contract/param.h"

namespace longwave::schedules::contract {

// Matrix multiplication of rows with panels of 16 outputs (panels.h). With `glu`, each panel is followed by
// the panel of its gates. With `advice`, a row of a cluster that no one wants keeps its old output and reads
// no weight. With `blocks` > 1 the matrix is block-diagonal. Block j maps the inputs from first + j*in to the
// outputs from j*out/blocks, and a block is a number of full panels. With `activations` of integers the
// kernel rounds each row to `steps` steps of its largest magnitude, and multiplies integers. With int8,
// `steps` is 127, and with int4 weights each group of 32 inputs has a largest magnitude of its own. This is
// for CPUs, int8 or int4 weights, several outputs and no `blocks`. int4 needs it.
struct Linear {
    static constexpr const char *name = "linear";
    Required<1, 1 << 20> in, out, rows;
    Streams streams; // CPU. More: without advice
    Flag bias, glu;
    Default<1, 1, 1 << 20> blocks;
    Default<0, 0, 1 << 24> first;
    Optional<1, 1 << 24> in_row; // absent: first + blocks*in, which is the least
    ChoiceOr<"float32", "bf16", "int8", "int4"> weights;
    Default<0, 1, 1 << 10> advice;        // CPU, for one row: number of clusters
    Default<-1, 0, (1 << 10) - 1> wanted; // with advice: which cluster
    ChoiceOr<"float32", "int16", "int8"> activations;
    LW_PARAMS(in, out, rows, streams, bias, glu, blocks, first, in_row, weights, advice, wanted, activations)

    template <class Of> struct Arguments {
        typename Of::Input x;      // [first + blocks*in, rows:in_row]
        typename Of::Input advice; // [P(advice), 1], with advice
        // [16, words, panels:stride], one output: [1, words, 1 or 2]. A word holds 1, 2, 4 or 8 inputs: f32,
        // or i32 of narrower weights
        typename Of::Weight w;
        // int8: [P(out)], with glu [2*P(out)]. int4: [16, groups of 32 inputs, panels]
        typename Of::Weight scale;
        typename Of::Weight steps; // [1], int16 and int8 activations
        typename Of::Weight bias;  // [P(out)], with glu [2*P(out)]: values then gates; with bias
        typename Of::Output y;     // [P(out), rows]
        LW_ARGUMENTS(x, advice, w, scale, steps, bias, y)
    };
};

// Matrix multiplication where each output depends on at most `band` neighbouring inputs, for CPUs. The
// compiler stores a matrix so where that takes at most a quarter of the numbers, such as mel filters.
struct BandedLinear {
    static constexpr const char *name = "banded_linear";
    Required<1, 1 << 20> in;
    Required<2, 1 << 20> out;
    Required<1, 1 << 20> rows;
    Required<1, 1 << 20> band; // at most in
    Flag bias;
    LW_PARAMS(in, out, rows, band, bias)

    template <class Of> struct Arguments {
        typename Of::Input x;      // [in, rows]
        typename Of::Weight w;     // [band, out]
        typename Of::Weight first; // i32 [out]: input of each band, moved inside the row
        typename Of::Weight bias;  // [P(out)], with bias
        typename Of::Output y;     // [P(out), rows]
        LW_ARGUMENTS(x, w, first, bias, y)
    };
};

// Block-diagonal matrix multiplication for blocks that are not full panels.
struct BlockLinear {
    static constexpr const char *name = "block_linear";
    Required<1, 1 << 24> in;
    Required<1, 1 << 20> out, rows;
    Required<1, 1 << 24> in_block;  // at most in
    Required<1, 1 << 20> out_block; // divides out
    Default<0, 0, 1 << 24> first;   // input of the first block
    LW_PARAMS(in, out, rows, in_block, out_block, first)

    template <class Of> struct Arguments {
        typename Of::Input x;     // [P(in), rows]
        typename Of::Weight w;    // [P(out), in_block]
        typename Of::Weight bias; // [P(out)]
        typename Of::Output y;    // [P(out), rows]
        LW_ARGUMENTS(x, w, bias, y)
    };
};

// Rows of a table. With `first`, ids outside [first, first + vocabulary) give zeros.
struct Embedding {
    static constexpr const char *name = "embedding";
    Required<1, 1 << 24> vocabulary;
    Required<1, 1 << 20> width;
    Default<-1, 0, 1 << 24> first;               // absent: every id is in the table
    Default<0, 1, 1 << 20> panels;               // inputs of a product that shares the table, at least width
    ChoiceOr<"float32", "bf16", "int8"> weights; // with panels
    Required<1, 1 << 20> rows;
    LW_PARAMS(vocabulary, width, first, panels, weights, rows)

    template <class Of> struct Arguments {
        typename Of::Input ids;    // i32 [rows], each in the vocabulary of the model
        typename Of::Weight table; // [P(width), vocabulary], without panels
        typename Of::Weight w;     // as the product has it, with panels
        typename Of::Weight scale; // as the product has it, with panels of int8
        typename Of::Output y;     // [P(width), rows]
        LW_ARGUMENTS(ids, table, w, scale, y)
    };
};

// Log-probabilities of words, with optional tails of adaptive softmax. With `advised`, the kernel skips a
// tail that the advice excludes. The words of that tail get -1e30.
struct LogSoftmax {
    static constexpr const char *name = "log_softmax";
    Required<1, 1 << 24> words;
    Required<1, 1 << 20> rows;
    Several<7, 1, 1 << 24> tails; // the sizes
    Flag advised;                 // CPU: one row with tails
    LW_PARAMS(words, rows, tails, advised)

    template <class Of> struct Arguments {
        typename Of::Input words;              // [P(words), rows]
        typename Of::Input classes;            // [P(number of tails), rows], with tails
        typename Of::Inputs tail;              // [P(tails[n]), rows]
        typename Of::Input advice;             // [P(number of tails), 1], with advised
        typename Of::Output log_probabilities; // [P(all words), rows]
        LW_ARGUMENTS(words, classes, tail, advice, log_probabilities)
    };
};

// Clusters of an adaptive softmax that a sampler can still choose.
struct ActiveClusters {
    static constexpr const char *name = "active_clusters";
    Required<1, 1 << 24> words;
    Required<1, 1 << 10> classes;
    Required<1, 1 << 20> every; // margin from which on all clusters are wanted
    LW_PARAMS(words, classes, every)

    template <class Of> struct Arguments {
        typename Of::Input words;   // [P(words), 1]
        typename Of::Input classes; // [P(classes), 1]
        typename Of::Input margin;  // [P(classes), 1]: how far below the best word a wanted class may be
        typename Of::Output wanted; // [P(classes), 1]: 1 or 0
        LW_ARGUMENTS(words, classes, margin, wanted)
    };
};

// Products of two matrices in each row. Both come from the input.
struct RowProduct {
    static constexpr const char *name = "row_product";
    Required<1, 1 << 20> batches, left, inner, columns; // rows of at most 2^24 numbers
    Required<1, 1 << 20> rows;
    LW_PARAMS(batches, left, inner, columns, rows)

    template <class Of> struct Arguments {
        typename Of::Input x; // [P(batches*left*inner), rows]
        typename Of::Input y; // [P(batches*inner*columns), rows]
        // [P(batches*left*columns), rows]. Element (batch*left + l)*columns + c is the sum over i of
        // x[(batch*left + l)*inner + i] * y[(batch*inner + i)*columns + c]
        typename Of::Output z;
        LW_ARGUMENTS(x, y, z)
    };
};

} // namespace longwave::schedules::contract
