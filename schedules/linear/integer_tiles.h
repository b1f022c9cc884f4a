// How a product of integers is cut into register tiles. Chosen by counting instructions.
#pragma once
#include "schedules/linear/linear_tiles.h"

namespace longwave::schedules {

struct IntegerTiles {
    int rows = 1;  // of a register tile
    int tiles = 1; // register tiles of all rows; the last may overlap the one before
    int parts = 1; // independent sums that each sum is split into
    int turn = 1;  // words of each part in one turn of the innermost loop
    std::vector<LinearTiles::Group> groups;
};

// One instruction multiplies four int8 and adds the products to an int32. Steps of an int16 are then
// two digits, with a sum each.
bool has_dot_products(const targets::Target &target);

IntegerTiles integer_tiles(const targets::Target &target, const Panels &panels, int rows);

} // namespace longwave::schedules
