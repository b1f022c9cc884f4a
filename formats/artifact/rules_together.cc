// V12: kernels for several streams at once. What each stream has of an argument lies `stride` bytes from
// that of the next: in their arenas (in_arenas), or in copies that the runtime makes. So the kernel stays
// inside what the kernel of one stream uses, and what it shares is the same for all streams.
#include "formats/artifact/geometry.h"
#include "formats/artifact/rules.h"

namespace longwave::artifact {
namespace {

bool same_shape(const fb::KernelArg &a, const fb::KernelArg &b) {
    if (count(a.dims()) != count(b.dims())) return false;
    for (uint32_t d = 0; d < count(a.dims()); ++d)
        if (a.dims()->Get(d)->extent() != b.dims()->Get(d)->extent() ||
            a.dims()->Get(d)->stride() != b.dims()->Get(d)->stride())
            return false;
    return true;
}

// `one`: an argument of the kernel of one stream, `many`: the same of that of `streams`.
const char *together_fault(const fb::KernelArg &one, const fb::KernelArg &many, uint64_t streams,
                           uint64_t stride) {
    if (one.elem() != many.elem()) return "another type for several streams: kernel, argument";
    uint64_t of_one = sizeof(int32_t), of_many;
    if (many.kind() == fb::ArgKind::scalar || !span_bytes(many, &of_many))
        return "a scalar for several streams: kernel, argument";
    if (one.kind() == fb::ArgKind::scalar) {
        if (many.kind() != fb::ArgKind::input || stride != of_one || of_many != streams * of_one)
            return "a scalar becomes an int32 for each stream: kernel, argument";
        return nullptr;
    }
    if (one.kind() != many.kind()) return "another kind for several streams: kernel, argument";
    if (stride == 0)
        return one.kind() == fb::ArgKind::input && same_shape(one, many)
                   ? nullptr
                   : "what streams share is an input of the same shape: kernel, argument";
    if (!span_bytes(one, &of_one) || stride < of_one || stride % bytes_of(elem_of(one.elem())) != 0 ||
        stride > cap::space / streams) // V13: 2 to 64 streams
        return "stride from stream to stream: kernel, argument";
    return of_many <= stride * (streams - 1) + of_one
               ? nullptr
               : "an argument reaches beyond the streams: kernel, argument";
}

// What streams share does not move with the block of a stream.
bool shared_by_streams(const fb::Binding &binding) {
    const fb::Place *place = binding.place();
    return place && place->slots() == 1 &&
           (place->space() == fb::Space::weights || place->space() == fb::Space::derived);
}

Broken shared_rule(const fb::Plan &plan, const fb::Entry &entry) {
    for (uint32_t i = 0; i < count(entry.steps()); ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        if (step.kind() != fb::StepKind::call) continue;
        const auto *together = plan.kernels()->Get(step.kernel())->together();
        for (uint32_t t = 0; t < count(together); ++t)
            for (uint32_t a = 0; a < together->Get(t)->strides()->size(); ++a)
                if (together->Get(t)->strides()->Get(a) == 0 && !shared_by_streams(*step.args()->Get(a)))
                    return broken(12, "several streams share what is not of the model: step, argument", i, a);
    }
    return {};
}

} // namespace

Broken v12_together(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k) {
        const fb::Kernel &kernel = *plan.kernels()->Get(k);
        for (uint32_t t = 0; t < count(kernel.together()); ++t) {
            const fb::Together &many = *kernel.together()->Get(t); // V13
            const fb::Kernel &other = *plan.kernels()->Get(many.kernel());
            if (other.args()->size() != kernel.args()->size())
                return broken(12, "arguments for several streams: kernel, found", k, other.args()->size());
            for (uint32_t a = 0; a < kernel.args()->size(); ++a)
                if (const char *fault = together_fault(*kernel.args()->Get(a), *other.args()->Get(a),
                                                       many.streams(), many.strides()->Get(a)))
                    return broken(12, fault, k, a);
        }
    }
    for (const fb::Entry *entry : *plan.entries())
        if (entry->kind() == fb::EntryKind::stream && entry->device() == fb::DeviceKind::cpu)
            if (Broken b = shared_rule(plan, *entry)) return b;
    return {};
}

} // namespace longwave::artifact
