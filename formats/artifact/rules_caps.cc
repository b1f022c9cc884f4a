// V6, how many and how large, and V7, sizes by checked arithmetic.
#include "formats/artifact/geometry.h"
#include "formats/artifact/rules.h"

namespace longwave::artifact {

// ---- V6 ----

// The least common multiple of the periods seen so far; 0 once it is above the cap.
struct Period {
    uint64_t all = 1;

    void take(uint32_t period) {
        if (all == 0 || (period != 0 && all % period == 0)) return;
        uint64_t a = all, b = period;
        while (b != 0) {
            const uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        all = period == 0 || all / a * period > cap::period ? 0 : all / a * period;
    }
};

// Steps of an entry or of its rebuild: a plan of few bytes must not run for hours.
static Broken caps_of_steps(const flatbuffers::Vector<flatbuffers::Offset<fb::Step>> *steps, bool rebuild,
                            uint32_t e, Period *period) {
    uint64_t tiles = 0, blocks = 0;
    if (count(steps) > cap::items) return broken(6, "steps of an entry: entry, steps", e, count(steps));
    for (uint32_t i = 0; i < count(steps); ++i) {
        const fb::Step &step = *steps->Get(i);
        if (step.tiles() < 1 || step.tiles() > cap::tiles)
            return broken(6, "tiles of a step: step, tiles", i, step.tiles());
        if (rebuild != (step.replay_from() > step.replay_to()) ||
            (!rebuild && step.replay_from() != step.replay_to()))
            return broken(6, "only steps of a rebuild replay, from earlier to later: entry, step", e, i);
        const uint64_t firings = rebuild ? step.replay_from() - step.replay_to() : 1;
        tiles += firings * step.tiles();
        if (tiles > cap::step_tiles)
            return broken(6, "tiles of all steps of an entry: entry, tiles", e, tiles);
        if (count(step.args()) > cap::kernel_args)
            return broken(6, "arguments of a step: step, arguments", i, count(step.args()));
        period->take(step.period());
        const uint64_t back = (uint64_t{step.replay_from()} + 1) * step.period();
        blocks = back > blocks ? back : blocks;
    }
    if (rebuild && (blocks > cap::step_blocks || blocks * count(steps) > cap::step_blocks))
        return broken(6, "blocks that a rebuild goes back: entry, blocks", e, blocks);
    return {};
}

static Broken caps_of_entry(const fb::Entry &entry, uint32_t e) {
    const bool stream = entry.kind() == fb::EntryKind::stream, run = entry.kind() == fb::EntryKind::run;
    if (count(entry.inputs()) > cap::ports || count(entry.outputs()) > cap::ports)
        return broken(6, "ports of an entry: inputs, outputs", count(entry.inputs()), count(entry.outputs()));
    if ((stream || run) && (entry.block() < 1 || entry.block() > cap::block))
        return broken(6, "block of an entry: entry, ticks", e, entry.block());
    if (entry.least() > (run ? entry.block() : 0))
        return broken(6, "least ticks of an entry: entry, ticks", e, entry.least());
    if (!stream && count(entry.rebuild()) > 0) return broken(6, "only a stream rebuilds a cache: entry", e);

    Period period;
    if (Broken b = caps_of_steps(entry.steps(), false, e, &period)) return b;
    if (Broken b = caps_of_steps(entry.rebuild(), true, e, &period)) return b;
    for (uint32_t i = 0; i < count(entry.outputs()); ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        if (port.delay() > cap::delay) return broken(6, "delay of an output: port, ticks", i, port.delay());
        period.take(port.period());
    }
    if (period.all == 0)
        return broken(6, "periods of an entry have no common multiple up to: entry, limit", e, cap::period);
    if (entry.period() != period.all)
        return broken(
            6, "the period is not the least common multiple of those of steps and outputs: found, expected",
            entry.period(), period.all);
    if (!stream && entry.period() != 1)
        return broken(6, "a period outside a stream: entry, period", e, entry.period());
    return {};
}

static Broken caps_of_kernels(const fb::Plan &plan) {
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k) {
        const fb::Kernel &kernel = *plan.kernels()->Get(k);
        if (kernel.args()->size() > cap::kernel_args)
            return broken(6, "arguments of a kernel: kernel, arguments", k, kernel.args()->size());
        for (uint32_t a = 0; a < kernel.args()->size(); ++a) {
            const auto *dims = kernel.args()->Get(a)->dims();
            if (count(dims) > cap::rank)
                return broken(6, "rank of an argument: kernel, rank", k, count(dims));
            for (uint32_t d = 0; d < count(dims); ++d)
                if (dims->Get(d)->extent() < 1 || dims->Get(d)->extent() > cap::extent)
                    return broken(6, "extent of an argument: kernel, extent", k, dims->Get(d)->extent());
        }
    }
    return {};
}

static Broken caps_of_lists(const fb::Plan &plan) {
    if (plan.kernels()->size() > cap::items)
        return broken(6, "kernels: found, limit", plan.kernels()->size(), cap::items);
    if (plan.variants()->size() > cap::variants)
        return broken(6, "code variants: found, limit", plan.variants()->size(), cap::variants);
    if (plan.segments()->size() > cap::segments)
        return broken(6, "segments: found, limit", plan.segments()->size(), cap::segments);
    if (plan.entries()->size() < 1 || plan.entries()->size() > cap::entries)
        return broken(6, "entries: found, limit", plan.entries()->size(), cap::entries);
    if (plan.inputs()->size() < 1 || plan.inputs()->size() > cap::ports)
        return broken(6, "inputs: found, limit", plan.inputs()->size(), cap::ports);
    if (count(plan.labels()) > cap::items)
        return broken(6, "labels: found, limit", count(plan.labels()), cap::items);
    if (count(plan.state()) > cap::items)
        return broken(6, "fields of the state: found, limit", count(plan.state()), cap::items);
    if (count(plan.scalars()) > most_host_scalars)
        return broken(6, "scalars of the host: found, limit", count(plan.scalars()), most_host_scalars);
    if (count(plan.golden()) > 2 * cap::entries)
        return broken(6, "golden vectors: found, limit", count(plan.golden()), 2 * cap::entries);
    for (uint32_t i = 0; i < plan.segments()->size(); ++i)
        if (plan.segments()->Get(i)->hash()->size() != hash_bytes)
            return broken(6, "bytes of a segment's hash: segment, bytes", i,
                          plan.segments()->Get(i)->hash()->size());
    for (uint32_t v = 0; v < plan.variants()->size(); ++v)
        if (const auto *image = plan.variants()->Get(v)->image(); image && image->size() != hash_bytes)
            return broken(6, "bytes of a code variant's hash: variant, found", v, image->size());
    if (plan.layout()->size() != hash_bytes || plan.computation()->size() != hash_bytes)
        return broken(6, "bytes of an identity: layout, computation", plan.layout()->size(),
                      plan.computation()->size());
    if (const fb::StateIdentity *identity = plan.identity();
        identity && (identity->model()->size() != hash_bytes || identity->weights()->size() != hash_bytes))
        return broken(6, "bytes of the state's identity: model, weights", identity->model()->size(),
                      identity->weights()->size());
    return {};
}

Broken v6_caps(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    if (Broken b = caps_of_lists(plan)) return b;
    if (Broken b = caps_of_kernels(plan)) return b;
    uint32_t prepares = 0, streams = 0, smallest = 0;
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (Broken b = caps_of_entry(entry, e)) return b;
        prepares += entry.kind() == fb::EntryKind::prepare;
        if (entry.kind() != fb::EntryKind::stream) continue;
        ++streams;
        if (smallest == 0 || entry.block() < smallest) smallest = entry.block();
    }
    if (prepares > 1 || streams > cap::streams)
        return broken(6, "too many entries of a kind: prepare, stream", prepares, streams);
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (entry.kind() == fb::EntryKind::stream && entry.block() % smallest != 0)
            return broken(6, "block of a stream is not a multiple of the smallest: block, smallest",
                          entry.block(), smallest);
    }
    for (uint32_t i = 0; i < plan.inputs()->size(); ++i) {
        const fb::Input &input = *plan.inputs()->Get(i);
        if (input.width() < 1 || input.width() > cap::extent)
            return broken(6, "width of an input: input, width", i, input.width());
    }
    return {};
}

// ---- V7 ----

static Broken sizes_of_kernel(const fb::Kernel &kernel, uint32_t k) {
    for (uint32_t a = 0; a < kernel.args()->size(); ++a) {
        const fb::KernelArg &arg = *kernel.args()->Get(a);
        uint64_t elements = 1, bytes;
        for (uint32_t d = 0; d < count(arg.dims()); ++d)
            if (!checked::mul(elements, arg.dims()->Get(d)->extent(), &elements))
                return broken(7, "elements of an argument overflow: kernel, argument", k, a);
        if (arg.kind() == fb::ArgKind::scalar) {
            if (arg.high() < 0 || arg.multiple() < 1)
                return broken(7, "bounds of a scalar: kernel, argument", k, a);
        } else if (!span_bytes(arg, &bytes) || elements > cap::elements || bytes > cap::space) {
            return broken(7, "size of an argument: kernel, argument", k, a);
        }
    }
    return {};
}

Broken v7_sizes(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    if (plan.weights_bytes() > cap::space || plan.derived_bytes() > cap::space)
        return broken(7, "weights or derived bytes: found", plan.weights_bytes(), plan.derived_bytes());
    if (plan.state_bytes() > cap::space)
        return broken(7, "state bytes: found, limit", plan.state_bytes(), cap::space);
    for (const fb::Entry *entry : *plan.entries())
        if (entry->cache_bytes() > cap::space || entry->arena_bytes() > cap::space)
            return broken(7, "cache or arena bytes: found", entry->cache_bytes(), entry->arena_bytes());
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k)
        if (Broken b = sizes_of_kernel(*plan.kernels()->Get(k), k)) return b;
    for (uint32_t v = 0; v < plan.variants()->size(); ++v) {
        const auto &scratch = *plan.variants()->Get(v)->scratch();
        for (uint32_t k = 0; k < scratch.size(); ++k)
            if (scratch.Get(k) > cap::space) return broken(7, "scratch of a kernel: variant, kernel", v, k);
    }
    return {};
}

} // namespace longwave::artifact
