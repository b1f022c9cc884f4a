// Which steps of a stream share a dispatch. A token of a text model has dozens of steps that each
// read a few hundred KiB or less: a dispatch and its barrier cost more than their work. So steps
// that follow each other become a chain: one workgroup per stream computes all of them
// (compiler/spirv/rewrite_chain.h). Why here: it takes the compiled modules, with their threads,
// workgroups and shared memory. The plan keeps its steps and their modules. A reader that does not
// know chains runs the steps one by one.
#pragma once
#include "compiler/codegen/dispatch.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/state_record.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace longwave::compiler {

// A compiled kernel, for one stream.
struct StepModule {
    std::vector<uint32_t> words;
    schedules::Signature signature;
    Dispatch dispatch;
};

// Steps [first, first + steps) of an entry in one dispatch, as Chain says
// (formats/artifact/modules.fbs).
struct StepChain {
    size_t entry = 0, first = 0, steps = 0;
    std::vector<uint8_t> code;
    std::vector<uint8_t> descriptors; // of each argument of the steps, in order
    uint8_t table = 0;
    uint32_t threads = 0, shared_bytes = 0;
};

struct ChainLimits {
    const targets::Target &target;
    uint64_t bytes = 0; // that a step of a chain may touch; 0: no chains
};

// The chains of all streams of the device, in the order of their steps. `modules`: by
// specification. `entries` are laid out in memory.
std::vector<StepChain> chain_steps(const std::vector<EntryPlan> &entries, const Storage &storage,
                                   const devices::Traits &device,
                                   const std::map<std::string, StepModule> &modules,
                                   const ChainLimits &limits);

// Dispatches of a run, or the most that a block of a stream takes.
size_t count_dispatches(const std::vector<EntryPlan> &entries, size_t entry,
                        const std::vector<StepChain> &chains);

} // namespace longwave::compiler
