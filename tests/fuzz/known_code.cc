#include "tests/fuzz/known_code.h"
#include "formats/artifact/features.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/hash.h"
#include "tests/support/tiny_model.h"
#include <cstring>
#include <map>

namespace longwave::fuzz {
namespace {

struct Known {
    uint8_t code[artifact::hash_bytes];
    std::map<uint64_t, uint32_t> kernels; // ABI hash -> where it begins
};

void add(Known &known, const test::Draft &draft) {
    const std::vector<uint8_t> bytes = draft.bytes();
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    const fb::Plan &plan = *fb::GetPlan(bytes.data() + header.plan_offset);
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k) known.kernels[plan.kernels()->Get(k)->abi()] = plan.variants()->Get(0)->entry()->Get(k);
}

const Known &known() {
    static const Known result = [] {
        Known fresh;
        const std::vector<uint8_t> code = test::code_image();
        artifact::hash(code.data(), code.size(), fresh.code);
        for (const test::Draft &draft : {test::audio_model(), test::spotter_model(), test::failing_model(), test::timing_model({})})
            add(fresh, draft);
        return fresh;
    }();
    return result;
}

} // namespace

bool may_run(const artifact::View &view) {
    const fb::Plan &plan = view.plan();
    if (plan.kernels()->size() == 0) return true; // nothing to execute
    const artifact::Host host = artifact::host();
    const fb::CodeVariant *variant = view.variant(host.machine, host.features);
    if (!variant || !artifact::equal_hash(plan.segments()->Get(variant->segment())->hash()->data(), known().code)) return false;
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k) {
        const auto found = known().kernels.find(plan.kernels()->Get(k)->abi());
        if (found == known().kernels.end() || found->second != variant->entry()->Get(k)) return false;
    }
    return true;
}

} // namespace longwave::fuzz
