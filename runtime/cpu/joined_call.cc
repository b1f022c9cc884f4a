#include "runtime/cpu/joined_call.h"
#include "formats/artifact/geometry.h"
#include "runtime/core/scalars.h"
#include <cstring>
#include <new>

namespace longwave::runtime {

using artifact::count;

namespace {

// Several streams share it: stride 0.
bool of_model(uint64_t stride) { return stride == 0; }

} // namespace

void JoinedCall::build(const fb::Plan &plan, const fb::Step &step, uint32_t index, const Kernel *kernels,
                       const Spaces &spaces, uint64_t apart, void *user_context, Parts &parts) {
    const fb::Kernel &one = *plan.kernels()->Get(step.kernel());
    const fb::Together &many = *one.together()->Get(index);
    const auto &args = *plan.kernels()->Get(many.kernel())->args();
    streams_ = many.streams();
    buffers_ = parts.take<Buffer>(args.size());
    pointers_ = parts.take<void *>(1 + args.size());
    in_arenas_ = parts.take<Moving>(args.size());
    copied_ = parts.take<Copied>(args.size());
    if (kernels) {
        function_ = kernels[many.kernel()].function;
        pointers_[0] = user_context;
    }
    Dimension *dims = kernels ? kernels[many.kernel()].dims : nullptr;
    for (uint32_t a = 0; a < args.size(); ++a) {
        const fb::Binding &binding = *step.args()->Get(a);
        const uint64_t stride = many.strides()->Get(a);
        const bool in_arenas = artifact::in_arenas(step, binding, *args.Get(a), stride, apart);
        if (!of_model(stride) && !in_arenas) copied_bytes_ += to_line(stride * streams_);
        if (!kernels) continue;
        buffers_[a] = descriptor(*args.Get(a), dims);
        dims += buffers_[a].dimensions;
        pointers_[1 + a] = buffers_ + a;
        const Moving place = binding.place() ? moving(*binding.place(), a) : Moving{.buffer = a};
        if (of_model(stride)) {
            buffers_[a].host = place.at(spaces, 0, 0);
        } else if (in_arenas) {
            in_arenas_[n_in_arenas_++] = place;
        } else {
            const fb::KernelArg &arg = *one.args()->Get(a);
            uint64_t span = sizeof(int32_t);
            if (binding.place() && !artifact::span_bytes(arg, &span)) span = 0; // V7: it does not overflow
            const bool output = arg.kind() == fb::ArgKind::output;
            copied_[n_copied_++] = {place, binding.scalar(), stride,
                                    span,  !output,          output || arg.kind() == fb::ArgKind::inout};
        }
    }
}

bool JoinedCall::run(const Call &call, const SideBySide &of, uint32_t first, uint32_t n, uint32_t tile,
                     uint8_t *copies) const {
    for (uint32_t i = 0; i < n_in_arenas_; ++i)
        buffers_[in_arenas_[i].buffer].host = in_arenas_[i].at(of.spaces[first], 0, tile);
    const auto firing = [&](uint32_t stream) { return of.members[stream].block / call.period; };
    uint8_t *to = copies;
    for (uint32_t c = 0; c < n_copied_; to += to_line(copied_[c++].stride * streams_)) {
        const Copied &copied = copied_[c];
        buffers_[copied.place.buffer].host = to;
        // Places that are left compute what the first stream does.
        for (uint32_t s = 0; copied.read && s < streams_; ++s) {
            const uint32_t stream = first + (s < n ? s : 0);
            uint8_t *const at = to + s * copied.stride;
            if (copied.scalar)
                new (at) int32_t(evaluate(*copied.scalar, firing(stream), tile, of.members[stream].extent));
            else memcpy(at, copied.place.at(of.spaces[stream], firing(stream), tile), copied.span);
        }
    }
    if (function_(pointers_) != 0) return false;
    for (uint32_t c = 0; c < n_copied_; ++c) {
        const Copied &copied = copied_[c];
        const uint8_t *const from = buffers_[copied.place.buffer].host;
        for (uint32_t s = 0; copied.written && s < n; ++s)
            memcpy(copied.place.at(of.spaces[first + s], firing(first + s), tile), from + s * copied.stride,
                   copied.span);
    }
    return true;
}

} // namespace longwave::runtime
