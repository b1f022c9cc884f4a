// linear: what is multiplied, and by weights that lie how; what the schedules for CPUs and for
// graphics processors share.
#pragma once
#include "schedules/contract/kernels/linear.h"
#include "schedules/contract/panels.h"
#include "schedules/halide/builder.h"
#include "schedules/linear/skip_mask.h"

namespace longwave::schedules {

struct Product {
    contract::Linear::Arguments<contract::Names> a = contract::names_of<contract::Linear>();
    int in, out, rows, in_row, halves;
    int of_stream;     // rows of one stream; `rows` are those of all
    int blocks, first; // of the diagonal: block j reads the inputs from first + j·in on
    bool has_bias;
    int digits; // of quantised rows, an int8 each: 1 or 2; 0: rows stay float32
    Panels panels;
    Halide::ImageParam x, w, scale, most_steps, bias;
    Halide::Expr apart; // of float32 panels, where their distance is the caller's; else undefined
    int wanted; // one row: the value of `advice` that says whether anybody wants it; -1: somebody does
    Halide::ImageParam advice;

    int width() const { return static_cast<int>(pad(out)); }
    int of_word() const { return static_cast<int>(panels.of_word()); }
    // Inputs that have a weight: whole words of them.
    int inputs() const { return static_cast<int>(panels.words()) * of_word(); }
    // Those behind the last have weights of zero: it stands for them.
    Halide::Expr input(const Halide::Expr &i, const Halide::Expr &row, const Halide::Expr &block) const {
        const Halide::Expr inside = inputs() == in ? i : Halide::min(i, in - 1);
        return x(blocks == 1 ? inside + first : first + block * in + inside, row);
    }

    // The weight at a place of a word. int8 is left in the upper bits, 2^24 times what it stands
    // for: a mask takes no longer than the shift that would bring it down with its sign.
    Halide::Expr weight(const Halide::Expr &o, const Halide::Expr &word, const Halide::Expr &place,
                        const Halide::Expr &panel) const {
        if (apart.defined()) return w(o + panel * apart, word, 0);
        if (panels.format == WeightFormat::float32) return w(o, word, panel);
        const int bits = 32 / of_word();
        const Halide::Expr top = Halide::reinterpret<uint32_t>(w(o, word, panel))
                                 << Halide::cast<uint32_t>(32 - bits - bits * place),
                           alone = top & Halide::cast<uint32_t>(
                                             Halide::Expr(bits == 16 ? 0xffff0000u : 0xff000000u));
        return bits == 16 ? Halide::reinterpret<float>(alone)
                          : Halide::cast<float>(Halide::reinterpret<int32_t>(alone));
    }
    // What sums begin with, and what becomes of them.
    Halide::Expr start(const Halide::Expr &o, const Halide::Expr &half) const {
        return has_bias && !has_scales() ? Halide::Expr(bias(o + half * width())) : Halide::Expr(0.0f);
    }
    Halide::Expr finished(const Halide::Expr &sum, const Halide::Expr &o, const Halide::Expr &half) const {
        return has_scales() ? scaled(sum * 0x1p-24f, o, half) : sum;
    }
    // The result of a sum that only lacks the scale of its output.
    Halide::Expr scaled(const Halide::Expr &sum, const Halide::Expr &o, const Halide::Expr &half) const {
        const Halide::Expr at = o + half * width(), value = sum * scale(at);
        return has_bias ? value + bias(at) : value;
    }

    bool integer() const { return digits > 0; } // `w` is bytes then
    // Blocks of rows that are computed, out of so many.
    Halide::Expr blocks_wanted(int all) const {
        return wanted < 0 ? Halide::Expr(all) : turns_wanted(advice, wanted);
    }

    Shape y_shape() const { return dense({width(), rows}); }

private:
    bool has_scales() const { return panels.format == WeightFormat::int8; }
};

// Declares the matrix of `p.panels` and its scales.
void declare_matrix(KernelBuilder &k, Product &p, int outputs, const contract::Names::Weight &w,
                    const contract::Names::Weight &scale);

// Declares x, the weights, scales and bias.
Product declare_product(KernelBuilder &k, const contract::Linear &params);

} // namespace longwave::schedules
