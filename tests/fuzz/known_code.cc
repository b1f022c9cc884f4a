#include "tests/fuzz/known_code.h"
#include "formats/artifact/geometry.h"
#include "runtime/platform/cpu.h"
#include "tests/fuzz/must.h"
#include "tests/support/tiny_model.h"
#include <cstring>

namespace longwave::fuzz {

// The code image this machine runs, or null.
static const fb::CodeVariant *variant_of(const fb::Plan &plan) {
    const artifact::Host host = platform::host();
    const fb::CodeVariant *best = nullptr; // as View::variant, which needs a View
    for (const fb::CodeVariant *variant : *plan.variants()) {
        if (variant->machine() != host.machine || (variant->features() & ~host.features) != 0) continue;
        if (!best || __builtin_popcountll(variant->features()) > __builtin_popcountll(best->features()))
            best = variant;
    }
    return best;
}

void KnownCode::learn(const std::vector<uint8_t> &bytes) {
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    const fb::Plan &plan = *fb::GetPlan(bytes.data() + header.plan_offset);
    const fb::CodeVariant *variant = variant_of(plan);
    must(variant, "the known artifact has code for this machine");
    const uint8_t *code = plan.segments()->Get(variant->segment())->hash()->data();
    must(kernels_.empty() || artifact::equal_hash(code, code_), "known artifacts share their code");
    memcpy(code_, code, sizeof code_);
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k)
        kernels_[plan.kernels()->Get(k)->abi()] = variant->entry()->Get(k);
}

bool KnownCode::may_run(const artifact::View &view) const {
    const fb::Plan &plan = view.plan();
    if (plan.kernels()->size() == 0) return true; // nothing to execute
    const artifact::Host host = platform::host();
    const fb::CodeVariant *variant = view.variant(host.machine, host.features);
    if (variant && artifact::detached(*variant)) return false; // it is elsewhere
    if (!variant || !artifact::equal_hash(plan.segments()->Get(variant->segment())->hash()->data(), code_))
        return false;
    for (uint32_t k = 0; k < variant->entry()->size(); ++k) { // those behind are a GPU's alone
        const auto found = kernels_.find(plan.kernels()->Get(k)->abi());
        if (found == kernels_.end() || found->second != variant->entry()->Get(k)) return false;
    }
    return true;
}

const KnownCode &test_kernels() {
    static const KnownCode result = [] {
        KnownCode known;
        for (const test::Draft &draft : {test::audio_model(), test::family_model(), test::spotter_model(),
                                         test::failing_model(), test::timing_model({})})
            known.learn(draft.bytes());
        return known;
    }();
    return result;
}

} // namespace longwave::fuzz
