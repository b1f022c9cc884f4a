// How a product is cut into register tiles and blocks: chosen by counting what a tile costs.
#pragma once
#include "schedules/contract/panels.h"
#include "targets/target.h"
#include <vector>

namespace longwave::schedules {

inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

struct LinearTiles {
    int rows = 1;     // of a register tile
    int tiles = 1;    // register tiles of a block; the last may overlap the one before
    int block = 1;    // rows that pass by a group of panels before the next
    int slices = 1;   // of a panel, tile after tile: where values and gates take too many registers
    int blocks = 1;   // the last may overlap as well
    int chunks = 1;   // of the inputs, one after another for all rows of a block
    int parts = 1;    // independent sums that each sum is split into
    int unrolled = 4; // inputs of one iteration of the innermost loop, about
    int granule = 1;  // inputs of each part that such an iteration has a multiple of: whole words of weights
    bool widen = false; // weights to float32 once for all rows of a block, not in every register tile
    bool fetch = false; // ask for the panels of the next tile while this one is computed
    struct Group {
        int first, panels, count; // `count` tiles of `panels` panels each
    };
    std::vector<Group> groups;
};

// Tiles of so many panels, and one of those that are left over.
std::vector<LinearTiles::Group> groups_of(int count, int panels);

// `diagonal`: blocks of a block-diagonal matrix, each with as many panels; the groups are those of
// one. `as_of`: sums have the order of a product of so many rows, and so the same bits; 0: any.
LinearTiles linear_tiles(const targets::Target &target, const Panels &panels, int rows, int diagonal = 1,
                         int as_of = 0);

// How a product of integers is cut into register tiles. Chosen by counting instructions.

// How a machine multiplies int8 weights by quantised rows.
enum class IntegerForm {
    ones,  // int16 by int16, one product to an int32
    pairs, // int16 by int16, two products to an int32
    words, // int8 by int8, a word of four products to an int32
    above, // the same with weights 128 larger, which makes them uint8; 128 times the row is taken off
    bytes, // int8 by int8 to an int16, which is added in pairs to an int32 after two words
};

// `digits`: of a row's numbers, an int8 each. `words`: of the weights of an output.
IntegerForm integer_form(const targets::Target &target, int digits, int words);

// One instruction multiplies four int8 and adds the products to an int32.
bool has_dot_products(const targets::Target &target);
// The same for uint8 by int8.
bool has_unsigned_dot_products(const targets::Target &target);

// The forms that multiply bytes take rows digit by digit, with a sum each. The others take whole
// steps.
inline bool multiplies_bytes(IntegerForm form) {
    return form == IntegerForm::words || form == IntegerForm::above || form == IntegerForm::bytes;
}
// Sums of an output that lie side by side, and words that a product takes together.
inline int sums_of_output(IntegerForm form) {
    return form == IntegerForm::pairs || form == IntegerForm::bytes ? 2 : 1;
}
inline int words_together(IntegerForm form) { return form == IntegerForm::bytes ? 2 : 1; }

struct IntegerTiles {
    int rows = 1;   // of a register tile
    int tiles = 1;  // register tiles of all rows; the last may overlap the one before
    int parts = 1;  // independent sums that each sum is split into
    int unroll = 1; // products of each part in one iteration of the innermost loop
    std::vector<LinearTiles::Group> groups;
};

IntegerTiles integer_tiles(const targets::Target &target, IntegerForm form, int digits, const Panels &panels,
                           int rows);

} // namespace longwave::schedules
