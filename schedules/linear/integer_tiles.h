// How a product of integers is cut into register tiles. Chosen by counting instructions.
#pragma once
#include "schedules/linear/linear_tiles.h"

namespace longwave::schedules {

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
    int rows = 1;  // of a register tile
    int tiles = 1; // register tiles of all rows; the last may overlap the one before
    int parts = 1; // independent sums that each sum is split into
    int turn = 1;  // products of each part in one turn of the innermost loop
    std::vector<LinearTiles::Group> groups;
};

IntegerTiles integer_tiles(const targets::Target &target, IntegerForm form, int digits, const Panels &panels,
                           int rows);

} // namespace longwave::schedules
