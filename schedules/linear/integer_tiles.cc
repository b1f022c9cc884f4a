#include "schedules/linear/integer_tiles.h"
#include "schedules/halide/builder.h"
#include <algorithm>
#include <limits>

namespace longwave::schedules {

namespace {

struct IntegerShape {
    int rows, vectors, parts; // `vectors` of sums for each row and part
};

// Each digit has its sums.
int vectors_of_panel(const targets::Target &target, IntegerForm form, int digits) {
    const int sums = sums_of_output(form) * (multiplies_bytes(form) ? digits : 1);
    return sums * static_cast<int>(lanes) / target.vector_lanes;
}

// Beside sums, and rows or vectors of weights, of a product. Where inputs are multiplied one by
// one, the 64 bytes of a word are loaded together and then widened.
int registers_of_product(IntegerForm form) {
    switch (form) {
    case IntegerForm::ones: return 20;
    case IntegerForm::pairs: return 2;
    case IntegerForm::words:
    case IntegerForm::above: return 6;
    case IntegerForm::bytes: return 16;
    }
    return 0;
}

bool in_registers(const targets::Target &target, IntegerForm form, const IntegerShape &s) {
    const int products = registers_of_product(form);
    return s.rows * s.vectors * s.parts + std::min(s.rows, s.vectors) + products <= target.vector_registers;
}

// Instructions for one word of every output, about two of which start in a cycle: a vector of
// weights is widened, a word of a row is broadcast, and each vector of products is multiplied and
// added.
double of_word(const IntegerShape &s, int turn) {
    constexpr double loop = 3;
    return s.vectors + s.rows + 2.0 * s.rows * s.vectors + loop / (turn * s.parts);
}

// At the end: parts and neighbours are added, sums are scaled and stored.
double of_end(const IntegerShape &s) { return s.rows * s.vectors * (2.0 * s.parts + 4) + 12; }

} // namespace

bool has_dot_products(const targets::Target &target) {
    return Halide::Target(target.halide).has_feature(Halide::Target::ARMDotProd);
}

bool has_unsigned_dot_products(const targets::Target &target) {
    return Halide::Target(target.halide).has_feature(Halide::Target::AVX512_Zen4);
}

IntegerForm integer_form(const targets::Target &target, int digits, int words) {
    const Halide::Target machine(target.halide);
    if (has_dot_products(target)) return IntegerForm::words;
    // A sum of so many products fits an int32 whatever they are.
    if (has_unsigned_dot_products(target) && words <= std::numeric_limits<int32_t>::max() / (4 * 255 * 128))
        return IntegerForm::above;
    if (target.integer_pairs) return IntegerForm::pairs;
    // Two digits cost more than one product of int16.
    const bool neon = machine.arch == Halide::Target::ARM && !machine.has_feature(Halide::Target::NoNEON);
    return neon && digits == 1 && words % 2 == 0 ? IntegerForm::bytes : IntegerForm::ones;
}

IntegerTiles integer_tiles(const targets::Target &target, IntegerForm form, int digits, const Panels &panels,
                           int rows) {
    const int words = static_cast<int>(panels.words()) / words_together(form),
              count = static_cast<int>(panels.count()),
              of_panel = vectors_of_panel(target, form, digits) * static_cast<int>(panels.halves);
    IntegerTiles best;
    double least = std::numeric_limits<double>::infinity();
    for (int of_tile = 1; of_tile <= std::min(count, 4); of_tile++)
        for (int m = 1; m <= std::min(rows, 8); m++)
            for (int parts = 1; parts <= 4 && words % parts == 0; parts *= 2) {
                const int turn = divisor_at_most(words / parts, std::max(1, 8 / parts));
                IntegerTiles tiles{m, ceil_div(rows, m), parts, turn, groups_of(count, of_tile)};
                double cost = 0;
                bool held = true;
                for (const LinearTiles::Group &group : tiles.groups) {
                    const IntegerShape shape{m, group.panels * of_panel, parts};
                    held = held && (in_registers(target, form, shape) || shape.rows * parts * of_tile == 1);
                    cost += group.count * tiles.tiles * (words * of_word(shape, turn) + of_end(shape));
                }
                cost *= 1 + 0.02 * static_cast<double>(tiles.groups.size() - 1); // twice the code
                if (!held || cost >= least) continue;
                least = cost;
                best = tiles;
            }
    return best;
}

} // namespace longwave::schedules
