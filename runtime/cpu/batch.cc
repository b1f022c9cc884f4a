// The streams go through the steps side by side. A call whose kernel has one for several streams
// (fb::Together) is joined: what each stream has of an argument is copied into one place, one kernel
// computes all of them, and what it wrote is copied back. All other steps run stream by stream.
#include "runtime/cpu/batch.h"
#include "formats/artifact/geometry.h"
#include "runtime/cpu/session.h"
#include "runtime/platform/kernels.h"
#include <algorithm>
#include <cstring>
#include <new>

namespace longwave::runtime {

struct Batch {
    const DeviceModel *model = nullptr;
    Scratch scratch;
    void *user_context = nullptr; // kernels get its address
    uint8_t *joined = nullptr;    // the arguments of one call
};

namespace {

using artifact::count;

constexpr uint32_t most_args = 64, most_streams = 64; // V6, V13

// Of all stream entries of the CPU, what the largest joined call needs.
struct Needs {
    uint32_t streams = 1;
    uint64_t joined = 0, scratch = 0;

    explicit Needs(const ModelSource &source) {
        for (const fb::Entry *entry : *source.view->plan().entries())
            if (entry->kind() == fb::EntryKind::stream && of_cpu(*entry))
                for (const fb::Step *step : *entry->steps())
                    if (step->kind() == fb::StepKind::call) add(source, step->kernel());
    }

private:
    void add(const ModelSource &source, uint32_t kernel) {
        const fb::Kernel &one = *source.view->plan().kernels()->Get(kernel);
        for (uint32_t t = 0; t < count(one.together()); ++t) {
            const fb::Together &many = *one.together()->Get(t);
            uint64_t bytes = 0;
            for (const uint64_t stride : *many.strides()) bytes += to_line(stride * many.streams());
            joined = std::max(joined, bytes);
            streams = std::max<uint32_t>(streams, many.streams());
            if (source.variant) scratch = std::max(scratch, source.variant->scratch()->Get(many.kernel()));
        }
    }
};

uint64_t lay_out(const ModelSource &source, uint8_t *memory, const DeviceModel *model, Batch **out) {
    Parts parts(memory);
    const Needs needs(source);
    Batch *batch = parts.take<Batch>(1);
    uint8_t *joined = parts.take<uint8_t>(needs.joined);
    char *scratch = parts.take<char>(needs.scratch);
    if (out) {
        *out = new (batch) Batch{model, {scratch, needs.scratch, 0}, nullptr, joined};
        (*out)->user_context = &(*out)->scratch;
    }
    return parts.used();
}

// One call that several streams make.
struct Joined {
    const Program &program;
    const Call &call;
    uint32_t entry, tile;
    const BatchMember *members;

    Frame &frame(uint32_t member) const { return members[member].session->workers[0].frames[entry]; }
    uint64_t firing(uint32_t member) const { return members[member].block / call.period; }
    bool run_alone(uint32_t member) const {
        return program.run(call, frame(member), firing(member), tile, members[member].extent);
    }
};

// Streams of an argument: copies to or from where the kernel for several streams has it.
class Argument {
public:
    Argument(const Kernel &kernel, uint32_t a)
        : kind_(kernel.plan->args()->Get(a)->kind()), span_(kernel.spans[a]) {}
    bool read() const { return kind_ != fb::ArgKind::output; }
    bool written() const { return kind_ == fb::ArgKind::output || kind_ == fb::ArgKind::inout; }

    void take(void *of_stream, uint8_t *to) const {
        if (kind_ == fb::ArgKind::scalar) memcpy(to, of_stream, sizeof(int32_t));
        else memcpy(to, static_cast<Buffer *>(of_stream)->host, span_);
    }
    void give(void *of_stream, const uint8_t *from) const {
        memcpy(static_cast<Buffer *>(of_stream)->host, from, span_);
    }

private:
    fb::ArgKind kind_;
    uint64_t span_;
};

Type type_of_scalar() { return {0, 32, 1}; }

// `who`: n members, at most as many as `many` serves. Places that are left compute what the first
// one does.
bool run_joined(Batch &batch, const Joined &of, const fb::Together &many, const uint8_t *who, uint32_t n) {
    const Kernel &one = *of.call.kernel, &kernel = batch.model->kernels[many.kernel()];
    const uint32_t args = one.plan->args()->size();
    Buffer buffers[most_args];
    void *pointers[most_args + 1] = {&batch.user_context};
    for (uint32_t m = 0; m < n; ++m)
        of.program.place(of.call, of.frame(who[m]), of.firing(who[m]), of.tile, of.members[who[m]].extent);
    uint8_t *next = batch.joined;
    Dimension *dims = kernel.dims;
    for (uint32_t a = 0; a < args; ++a) {
        const Argument argument(one, a);
        const uint64_t stride = many.strides()->Get(a);
        void *const first = of.frame(who[0]).argument(of.call, a);
        const bool scalar = one.plan->args()->Get(a)->kind() == fb::ArgKind::scalar;
        buffers[a] = scalar ? Buffer{} : *static_cast<Buffer *>(first);
        if (scalar) buffers[a].type = type_of_scalar();
        if (stride > 0) buffers[a].host = next;
        buffers[a].dimensions = static_cast<int32_t>(count(kernel.plan->args()->Get(a)->dims()));
        buffers[a].dim = dims;
        pointers[a + 1] = buffers + a;
        dims += buffers[a].dimensions;
        next += to_line(stride * many.streams());
        for (uint32_t s = 0; stride > 0 && argument.read() && s < many.streams(); ++s)
            argument.take(of.frame(who[s < n ? s : 0]).argument(of.call, a), buffers[a].host + s * stride);
    }
    batch.scratch.used = 0;
    if (kernel.function(pointers) != 0) return false;
    for (uint32_t a = 0; a < args; ++a) {
        const Argument argument(one, a);
        for (uint32_t m = 0; argument.written() && m < n; ++m)
            argument.give(of.frame(who[m]).argument(of.call, a),
                          buffers[a].host + m * many.strides()->Get(a));
    }
    return true;
}

// The kernel for the next of n streams: the one that serves them all, if it is not half empty; else
// the largest that is full. Null: one by one.
const fb::Together *choose(const Kernel &kernel, uint32_t n) {
    const auto *all = kernel.plan->together();
    const fb::Together *best = nullptr;
    for (uint32_t t = 0; t < count(all); ++t) {
        const fb::Together *many = all->Get(t);
        if (many->streams() <= n || (!best && 2 * n > many->streams()) ||
            (many->streams() > n && best && best->streams() < n && 4 * n >= 3 * many->streams()))
            best = many;
    }
    return best;
}

bool run_call(Batch &batch, const Joined &of, const uint8_t *who, uint32_t n) {
    while (n > 0) {
        const fb::Together *many = n > 1 && of.call.kernel ? choose(*of.call.kernel, n) : nullptr;
        const uint32_t now = many ? std::min<uint32_t>(n, many->streams()) : 1;
        if (many ? !run_joined(batch, of, *many, who, now) : !of.run_alone(who[0])) return false;
        who += now;
        n -= now;
    }
    return true;
}

} // namespace

uint32_t batch_streams(const ModelSource &source) { return Needs(source).streams; }
uint64_t batch_bytes(const ModelSource &source) { return lay_out(source, nullptr, nullptr, nullptr); }

void begin_batch(const DeviceModel &model, uint8_t *memory, Batch **out) {
    lay_out(model.source, memory, &model, out);
}

lw_status run_batch(Batch &batch, uint32_t entry, const BatchMember *members, uint32_t n) {
    const platform::KernelMode mode;
    const Program &program = batch.model->steps[entry];
    for (uint32_t i = 0; i < program.size(); ++i) {
        const Call &call = program[i];
        uint8_t who[most_streams];
        uint32_t firing = 0;
        for (uint32_t m = 0; m < n; ++m)
            if (members[m].block % call.period == call.phase) who[firing++] = static_cast<uint8_t>(m);
        for (uint32_t tile = 0; tile < call.tiles; ++tile)
            if (!run_call(batch, {program, call, entry, tile, members}, who, firing))
                return kernel_failed(call);
    }
    return LW_OK;
}

} // namespace longwave::runtime
