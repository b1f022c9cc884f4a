#include "compiler/codegen/chains.h"
#include "compiler/spirv/rewrite_chain.h"
#include "formats/artifact/modules.h"
#include "formats/spirv/module.h"
#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace longwave::compiler {
namespace {

// One workgroup does about 256 multiply-adds at a time. Beyond these, several workgroups save more
// than a dispatch costs.
constexpr uint64_t most_products = 1u << 20;

// Likewise: kernels that update state in place take about ten instructions for each element, and
// others a few for each result.
constexpr uint64_t most_state = 32u << 10, most_results = 4096; // bytes, elements

// Longer chains would not stay in the instruction caches of GPUs: 8 steps are about 8 KiB on
// gfx1100.
constexpr size_t most_chained = 16;

// Bytes behind one descriptor, which every device has.
constexpr uint64_t most_weights = 128u << 20;

bool is_written(const schedules::KernelArg &arg) {
    return arg.kind == schedules::ArgKind::output || arg.kind == schedules::ArgKind::inout;
}

uint64_t span_of(const schedules::KernelArg &arg) {
    uint64_t last = 0;
    for (const auto &dim : arg.dims) last += uint64_t(dim.extent - 1) * uint64_t(dim.stride);
    return (last + 1) * bytes_of(arg.elem);
}

uint64_t elements_of(const schedules::KernelArg &arg) {
    uint64_t count = 1;
    for (const auto &dim : arg.dims) count *= uint64_t(dim.extent);
    return count;
}

// Memory that one descriptor reaches: weights, derived tables, a field of the state, a cache, the
// arena.
using BufferKey = std::pair<Space, BufferId>;

struct TouchedBytes {
    BufferKey region;
    uint64_t begin = 0, end = 0;
    bool written = false;
};

bool conflict(const TouchedBytes &a, const TouchedBytes &b) {
    return (a.written || b.written) && a.region == b.region && a.begin < b.end && b.begin < a.end;
}

class Chains {
public:
    Chains(const std::vector<EntryPlan> &entries, const Storage &storage,
           const std::map<std::string, StepModule> &modules, const ChainLimits &limits)
        : entries_(entries), storage_(storage), modules_(modules), limits_(limits) {}

    void add(size_t entry) {
        entry_ = &entries_[entry];
        const std::vector<Step> &steps = entries_[entry].steps;
        for (size_t first = 0; first < steps.size();) {
            size_t end = first;
            while (end < steps.size() && goes_on(steps, first, end)) end++;
            for (size_t at = first; at < end;) at += add_chain(entry, at, length_at(steps, first, end, at));
            first = std::max(end, first + 1);
        }
    }

    std::vector<StepChain> take() { return std::move(made_); }

private:
    // The longest chain from there on that the target holds; the number of its steps, or 1.
    size_t add_chain(size_t entry, size_t first, size_t count) {
        for (; count > 1; count--)
            if (auto made = chain(entry, first, count)) {
                made_.push_back(std::move(*made));
                return count;
            }
        return 1;
    }

    // Layers repeat. Chains that begin at the same step of each layer have the same code, which the
    // driver compiles once. So the steps [first, end) are cut at periods of their kernels, as many
    // together as fit.
    static size_t length_at(const std::vector<Step> &steps, size_t first, size_t end, size_t at) {
        const auto repeats = [&](size_t i, size_t period) {
            return i + period < end && steps[i].spec == steps[i + period].spec;
        };
        size_t period = 0, most = (end - first) / 2;
        for (size_t p = 2; p <= most_chained; p++) {
            size_t count = 0;
            for (size_t i = first; i < end; i++) count += repeats(i, p);
            if (count > most) most = count, period = p;
        }
        if (period == 0) return std::min(end - at, most_chained);
        const size_t together = most_chained / period * period;
        size_t begin = first; // of the first full period
        const auto whole = [&](size_t i) {
            for (size_t j = 0; j < period; j++)
                if (!repeats(i + j, period)) return false;
            return true;
        };
        while (begin < end && !whole(begin)) begin++;
        if (at < begin) return std::min(begin - at, most_chained);
        return std::min(end - at, together - (at - begin) % together);
    }

    bool goes_on(const std::vector<Step> &steps, size_t first, size_t next) const {
        return steps[next].period == steps[first].period && steps[next].phase == steps[first].phase &&
               is_small(steps[next]);
    }

    bool is_small(const Step &step) const {
        const schedules::Signature &signature = modules_.at(step.spec).signature;
        uint64_t bytes = 0, weights = 0, rows = 1, state = 0, results = 0;
        for (size_t a = 0; a < step.args.size(); a++) {
            const schedules::KernelArg &arg = signature.args[a];
            if (arg.kind == schedules::ArgKind::scalar) continue;
            bytes += span_of(arg);
            const uint64_t elements = elements_of(arg);
            if (region_of(std::get<Place>(step.args[a])).first == Space::weights) weights += elements;
            if (arg.kind == schedules::ArgKind::inout) state += span_of(arg);
            if (arg.kind == schedules::ArgKind::output) results += elements;
            if (arg.kind == schedules::ArgKind::output && !arg.dims.empty())
                rows = std::max(rows, elements / uint64_t(arg.dims[0].extent));
        }
        return bytes <= limits_.bytes && weights * rows <= most_products && state <= most_state &&
               results <= most_results;
    }

    BufferKey region_of(const Place &place) const {
        if (place.buffer & state_buffer) return {Space::state, place.buffer};
        if (place.buffer & shared_buffer) return {storage_.buffer(place.buffer).space, 0};
        return {entry_->buffers[place.buffer].space, 0};
    }

    TouchedBytes touched(const Place &place, const schedules::KernelArg &arg) const {
        uint64_t begin = place.offset;
        if (place.buffer & shared_buffer) begin += storage_.buffer(place.buffer).offset;
        else if (!(place.buffer & state_buffer)) begin += entry_->buffers[place.buffer].offset;
        return {region_of(place), begin, begin + (place.slots - 1) * place.slot_bytes + span_of(arg),
                is_written(arg)};
    }

    // Nothing: the target does not hold it.
    std::optional<StepChain> chain(size_t entry, size_t first, size_t count) {
        StepChain made{.entry = entry, .first = first, .steps = count};
        const auto begin = entries_[entry].steps.begin() + static_cast<ptrdiff_t>(first);
        const std::vector<Step> steps(begin, begin + static_cast<ptrdiff_t>(count));
        const std::map<BufferKey, uint8_t> descriptors = number_regions(steps);
        made.table = static_cast<uint8_t>(descriptors.size());
        if (static_cast<int>(descriptors.size()) >= limits_.target.buffers) return std::nullopt;
        std::set<BufferKey> changing;
        each_place(steps, [&](const TouchedBytes &one) {
            if (one.written) changing.insert(one.region);
        });
        std::vector<spirv::ChainPart> parts;
        std::vector<TouchedBytes> since; // what was touched since the last barrier
        for (const Step &step : steps) {
            parts.push_back(part_of(step, descriptors, changing, made));
            std::vector<TouchedBytes> own;
            each_place({step}, [&](const TouchedBytes &one) { own.push_back(one); });
            parts.back().waits = std::any_of(own.begin(), own.end(), [&](const TouchedBytes &a) {
                return std::any_of(since.begin(), since.end(),
                                   [&](const TouchedBytes &b) { return conflict(a, b); });
            });
            if (parts.back().waits) since.clear();
            since.insert(since.end(), own.begin(), own.end());
        }
        made.threads = spirv::chain_threads(parts, static_cast<uint32_t>(limits_.target.threads));
        if (made.threads == 0) return std::nullopt;
        const auto row = static_cast<uint32_t>(made.descriptors.size());
        try {
            const spirv::ChainedModule module = spirv::rewrite_chain(parts, made.threads, made.table, row);
            made.shared_bytes = module.shared_bytes;
            made.code.resize(module.words.size() * sizeof(uint32_t));
            std::memcpy(made.code.data(), module.words.data(), made.code.size());
        } catch (const spirv::Fault &) {
            return std::nullopt; // a kernel of another form keeps its own dispatch
        }
        if (made.shared_bytes > static_cast<uint64_t>(limits_.target.shared_bytes)) return std::nullopt;
        return made;
    }

    // visit(TouchedBytes) for each buffer of the steps.
    template <class Visit> void each_place(const std::vector<Step> &steps, const Visit &visit) const {
        for (const Step &step : steps) {
            const schedules::Signature &signature = modules_.at(step.spec).signature;
            for (size_t a = 0; a < step.args.size(); a++)
                if (const auto *place = std::get_if<Place>(&step.args[a]))
                    visit(touched(*place, signature.args[a]));
        }
    }

    // Regions that some kernel reads or writes.
    std::map<BufferKey, uint8_t> number_regions(const std::vector<Step> &steps) const {
        std::map<BufferKey, uint8_t> numbers;
        for (const Step &step : steps) {
            const std::vector<uint8_t> &bindings = modules_.at(step.spec).dispatch.bindings;
            for (size_t a = 0; a < step.args.size(); a++)
                if (const auto *place = std::get_if<Place>(&step.args[a]);
                    place && bindings[a] != artifact::unbound)
                    numbers.try_emplace(region_of(*place), static_cast<uint8_t>(numbers.size()));
        }
        return numbers;
    }

    // A row of the table has a word for each argument.
    spirv::ChainPart part_of(const Step &step, const std::map<BufferKey, uint8_t> &descriptors,
                             const std::set<BufferKey> &changing, StepChain &chain) const {
        const StepModule &module = modules_.at(step.spec);
        spirv::ChainPart part{.words = module.words, .grid = module.dispatch.grid};
        for (size_t a = 0; a < step.args.size(); a++) {
            const uint8_t binding = module.dispatch.bindings[a];
            const auto *place = std::get_if<Place>(&step.args[a]);
            const auto word = static_cast<uint32_t>(chain.descriptors.size());
            const uint8_t descriptor = binding == artifact::unbound ? artifact::unbound
                                       : place                      ? descriptors.at(region_of(*place))
                                                                    : chain.table;
            chain.descriptors.push_back(descriptor);
            if (binding == artifact::unbound) continue;
            if (part.buffers.size() <= binding) part.buffers.resize(binding + 1u);
            if (place) part.buffers[binding] = {descriptor, word, changing.contains(region_of(*place))};
            else if (!part.scalars) {
                part.buffers[binding] = {descriptor, word, false};
                part.scalars = binding;
            }
        }
        return part;
    }

    const std::vector<EntryPlan> &entries_;
    const Storage &storage_;
    const std::map<std::string, StepModule> &modules_;
    const ChainLimits limits_;
    const EntryPlan *entry_ = nullptr; // whose steps are looked at
    std::vector<StepChain> made_;
};

} // namespace

size_t count_dispatches(const std::vector<EntryPlan> &entries, size_t entry,
                        const std::vector<StepChain> &chains) {
    const std::vector<Step> &steps = entries[entry].steps;
    std::vector<bool> inside(steps.size(), false); // a chain, behind its first step
    for (const StepChain &chain : chains)
        for (size_t i = 1; i < chain.steps && chain.entry == entry; i++) inside[chain.first + i] = true;
    size_t most = 0;
    for (uint32_t block = 0; block < entries[entry].period; block++) {
        size_t count = 0;
        for (size_t i = 0; i < steps.size(); i++)
            count += steps[i].kind == Step::Kind::call && !steps[i].cpu && !inside[i] &&
                     block % steps[i].period == steps[i].phase;
        most = std::max(most, count);
    }
    return most;
}

std::vector<StepChain> chain_steps(const std::vector<EntryPlan> &entries, const Storage &storage,
                                   const devices::Traits &device,
                                   const std::map<std::string, StepModule> &modules,
                                   const ChainLimits &limits) {
    if (limits.bytes == 0 || storage.weight_bytes() > most_weights || storage.derived_bytes() > most_weights)
        return {};
    Chains chains(entries, storage, modules, limits);
    for (size_t e = 0; e < entries.size(); e++) {
        const bool stream = entries[e].kind == EntryPlan::Kind::stream && entries[e].device == &device;
        if (stream) chains.add(e);
    }
    return chains.take();
}

} // namespace longwave::compiler
