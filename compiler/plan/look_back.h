// How far the layers of a model reach through time: what a check of the compiled model must
// exercise.
#pragma once
#include "compiler/ir/graph.h"
#include <cstdint>
#include <string>

namespace longwave::compiler {

// All layers count on their own: dense input gives each of them dense rows, so a sequence that is
// longer than the longest reach exercises every lag of every layer.
struct LookBack {
    uint32_t ticks = 0;     // the longest reach of a layer, in input ticks
    std::string layer;      // that has it
    bool ahead = false;     // some layer reads later rows as well
    bool whole = false;     // some layer reads the whole sequence
    bool recurrent = false; // some layer remembers every earlier row, in a sum or a matrix
};

LookBack look_back(const ir::Graph &graph);

} // namespace longwave::compiler
