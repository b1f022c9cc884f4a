// The entries of an artifact: whole runs, streams, and what prepares the model for them; on CPUs, and beside them
// on a GPU.
#pragma once
#include "compiler/driver/compile.h"
#include "compiler/codegen/spirv_modules.h"
#include "compiler/placement/placement.h"
#include "compiler/plan/entry_planner.h"
#include "compiler/plan/state_record.h"
#include "compiler/plan/storage.h"
#include "compiler/plan/tuning.h"

namespace longwave::compiler {

// Prepare fills up while the others ask it for taps and spectra.
struct Plans {
    Storage storage;
    StateRecord record;
    std::vector<EntryPlan> entries;        // prepare (when it has steps), run, streams
    std::vector<const ir::Graph *> graphs; // of each entry; null: prepare
    std::vector<std::pair<std::string, AlgorithmReport>> algorithms; // name of the entry, choice
};

// What is planned for a GPU beside the CPUs' entries.
struct OnGpu {
    const targets::Target *target = nullptr; // null: nothing
    bool runs = false, streams = false;
    Placed placed;        // layers of runs that are the CPU's
    RefusedOnGpu refused; // why one of them is not
};

// All of them, laid out in memory. `model`: its name. `stream`: null when there is none. `capacity`: input ticks of whole runs, beside
// Options::further_lengths. What the GPU cannot run, runs or streams, is left out and said in `gpu`; where that is both,
// it is an error, but where measured times say so.
Expected<Plans> plan_entries(const ir::Graph &graph, const ir::Graph *stream, uint32_t capacity, OnGpu &gpu,
                             const Tuning &tuning, const Options &options, const std::string &model);

} // namespace longwave::compiler
