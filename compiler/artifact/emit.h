// The last step: plans, weights, code and golden vectors become the bytes of an artifact.
#pragma once
#include "compiler/artifact/for_streams.h"
#include "compiler/artifact/identity.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/state_record.h"
#include "formats/artifact/plan_generated.h"
#include "formats/artifact/write.h"
#include "formats/base/expected.h"
#include "formats/package/package.h"
#include "schedules/contract/kernel.h"
#include "targets/target.h"
#include <string>
#include <vector>

namespace longwave::compiler {

// All kernels of the artifact for one target: one image, an entry for each kernel in the order of
// `specs`.
struct TargetCode {
    targets::Target target;
    std::vector<uint8_t> image;
    std::vector<uint32_t> entries;
    std::vector<uint64_t> scratch;
    std::vector<uint64_t> kernel_bytes; // of code and constants, for reports
};

struct Parts {
    const package::Package &package;
    Storage storage;
    const StateRecord &record;
    const std::vector<EntryPlan> &entries;               // prepare (when it has steps), run, streams
    const std::vector<std::string> &specs;               // unique kernel specifications
    const std::vector<schedules::Signature> &signatures; // the same order
    const SpecsForStreams &for_streams;
    std::vector<TargetCode> code; // machine code of the first kernels
    std::vector<uint8_t> modules; // segment of a device (modules.h); empty: there is none
    std::vector<fb::GoldenT> golden;
    std::vector<uint8_t> golden_bytes;
    std::vector<uint8_t> recipe; // segment (recipe.h); empty: the weights are these for good
    std::string report, certificates;
    StateIdentity identity;
};

// Equal parts give equal bytes.
Expected<artifact::Pieces> emit(Parts parts);

// The specifications of all steps, each once and sorted. Those that have no machine code come last.
struct Specs {
    std::vector<std::string> all;
    size_t cpus = 0; // how many of them have machine code
    SpecsForStreams for_streams;
};
// `streams`: Options::streams.
Specs unique_specs(const std::vector<EntryPlan> &entries, const std::vector<uint32_t> &streams = {});

} // namespace longwave::compiler
