#include "compiler/plan/plan_memory.h"
#include "compiler/plan/entry_plan.h"
#include "formats/artifact/hash.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <numeric>

namespace longwave::compiler {
namespace {

// Bytes between a buffer and the next. Where all are a multiple of this long, they would begin in the same
// lines of a first cache, and a kernel that reads a row of each would find no room there for all of them.
constexpr uint64_t same_lines = 1024;
uint64_t apart(uint64_t bytes) { return bytes > 0 && bytes % same_lines == 0 ? cache_line : 0; }

bool alive_together(const Buffer &a, const Buffer &b) { return a.first <= b.last && b.first <= a.last; }

// Buffers: b of the entry, r of the record, s of the shared storage.
void print_step(std::string &text, const char *what, size_t i, const Step &s) {
    text += fmt::format("  {} {} {}", what, i,
                        s.kind == Step::Kind::call        ? s.spec
                        : s.kind == Step::Kind::zero      ? fmt::format("zero {} bytes", s.bytes)
                        : s.kind == Step::Kind::to_device ? fmt::format("{} bytes to the device", s.bytes)
                        : s.kind == Step::Kind::to_cpu
                            ? fmt::format("{} bytes to the CPU", s.bytes)
                            : fmt::format("zero_tail {} rows of {}", s.rows, s.row_bytes));
    if (s.period > 1) text += fmt::format(" every {} at {}", s.period, s.phase);
    if (s.replay_from) text += fmt::format(" replays {}..{}", s.replay_from, s.replay_to);
    if (s.cpu) text += " on the CPU";
    if (s.tiles > 1) text += fmt::format(" x{}{}", s.tiles, s.ordered ? " in order" : "");
    for (const auto &arg : s.args) {
        if (auto *p = std::get_if<Place>(&arg)) {
            text += fmt::format(" {}{}+{}",
                                p->buffer & shared_buffer  ? "s"
                                : p->buffer & state_buffer ? "r"
                                                           : "b",
                                p->buffer & ~(shared_buffer | state_buffer), p->offset);
            if (p->slots > 1) text += fmt::format("[f+{}%{} x{}]", p->slot_add, p->slots, p->slot_bytes);
            if (p->tile_bytes) text += fmt::format("[tile x{}]", p->tile_bytes);
        } else {
            const Scalar &v = std::get<Scalar>(arg);
            text += v.kind == Scalar::Kind::filled
                        ? fmt::format(" (min(f*{}+{}+tile*{},{}))", v.mul, v.add, v.tile_mul, v.value)
                        : fmt::format(" ({}+f%{}*{}+tile*{})", v.value, v.modulus, v.mul, v.tile_mul);
        }
    }
    text += fmt::format("  ; {}\n", s.name);
}

} // namespace

// Largest first, each at the lowest offset that no buffer alive at the same time uses: within a few
// percent of the optimum on chains, and simple to trust.
void plan_memory(EntryPlan &plan) {
    plan.arena_bytes = plan.cache_bytes = 0;
    std::vector<Buffer *> arena;
    for (Buffer &buffer : plan.buffers) {
        if (buffer.space == Space::cache) {
            buffer.offset = plan.cache_bytes;
            plan.cache_bytes = to_lines(plan.cache_bytes + buffer.bytes);
        } else {
            arena.push_back(&buffer);
        }
    }
    std::stable_sort(arena.begin(), arena.end(),
                     [](const Buffer *a, const Buffer *b) { return a->bytes > b->bytes; });
    std::vector<const Buffer *> placed;
    for (Buffer *buffer : arena) {
        std::vector<std::pair<uint64_t, uint64_t>> taken;
        for (const Buffer *other : placed)
            if (alive_together(*buffer, *other))
                taken.emplace_back(other->offset,
                                   to_lines(other->offset + other->bytes) + apart(other->bytes));
        std::sort(taken.begin(), taken.end());
        uint64_t offset = 0;
        for (auto [begin, end] : taken) {
            if (offset + buffer->bytes <= begin) break;
            offset = std::max(offset, end);
        }
        buffer->offset = offset;
        plan.arena_bytes = std::max(plan.arena_bytes, to_lines(offset + buffer->bytes));
        placed.push_back(buffer);
    }
}

std::string print(const EntryPlan &plan) {
    static const char *spaces[] = {"weights", "derived", "state", "arena", "cache"};
    std::string text = fmt::format("entry {} block={} period={} arena={} cache={}\n", plan.name(), plan.block,
                                   plan.period, plan.arena_bytes, plan.cache_bytes);
    for (size_t i = 0; i < plan.buffers.size(); i++) {
        const Buffer &b = plan.buffers[i];
        text += fmt::format("  buffer {} {} @{} {} bytes, steps {}..{}  ; {}\n", i,
                            spaces[static_cast<int>(b.space)], b.offset, b.bytes, b.first, b.last, b.name);
    }
    const auto steps = [&](const char *what, const std::vector<Step> &list) {
        for (size_t i = 0; i < list.size(); i++) print_step(text, what, i, list[i]);
    };
    steps("step", plan.steps);
    steps("rebuild", plan.rebuild);
    return text;
}

BufferId Storage::weights(const std::string &name, Packed packed) {
    const size_t size = packed.bytes.size();
    if (mode_ == Weights::counted) return add(name, size);
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(packed.bytes.data(), size, digest);
    digests_.emplace_back(std::begin(digest), std::end(digest));
    std::string key = digests_.back();
    if (digests_.size() <= digests_to_match_.size()) key += digests_to_match_[digests_.size() - 1];
    const auto [entry, inserted] = by_hash_.try_emplace(std::move(key), 0);
    if (!inserted) return entry->second;
    entry->second = add(name, size);
    weights_.push_back({name, packed.elem, {buffer(entry->second).offset, std::move(packed.bytes)}});
    return entry->second;
}

BufferId Storage::add(const std::string &name, uint64_t bytes) {
    const uint64_t offset = to_lines(weight_bytes_);
    buffers_.push_back({.name = name, .space = Space::weights, .bytes = bytes, .offset = offset});
    weight_bytes_ = offset + bytes;
    return shared_buffer | static_cast<BufferId>(buffers_.size() - 1);
}

std::vector<artifact::SegmentPart> Storage::take_weights() {
    std::vector<artifact::SegmentPart> parts;
    for (StoredNumbers &numbers : weights_) parts.push_back(std::move(numbers.part));
    weights_.clear();
    return parts;
}

BufferId Storage::derived(const std::string &key, uint64_t bytes, bool *fresh) {
    auto [entry, inserted] = by_key_.try_emplace(key, 0);
    *fresh = inserted;
    if (inserted) {
        entry->second = shared_buffer | static_cast<BufferId>(buffers_.size());
        buffers_.push_back({.name = key, .space = Space::derived, .bytes = bytes, .offset = derived_bytes_});
        derived_bytes_ = to_lines(derived_bytes_ + bytes);
    }
    return entry->second;
}

void measure_lifetimes(EntryPlan &plan) {
    const int count = static_cast<int>(plan.steps.size());
    std::vector<bool> seen(plan.buffers.size(), false);
    const auto touch = [&](BufferId id, int step) {
        if (!of_entry(id)) return;
        Buffer &b = plan.buffers[id];
        if (!seen[id]) b.first = b.last = step;
        b.first = std::min(b.first, step);
        b.last = std::max(b.last, step);
        seen[id] = true;
    };
    for (const auto &port : plan.inputs) touch(port.place.buffer, -1);
    for (int i = 0; i < count; i++)
        for (const auto &arg : plan.steps[i].args)
            if (auto *place = std::get_if<Place>(&arg)) touch(place->buffer, i);
    for (const auto &port : plan.outputs) touch(port.place.buffer, count);
    // Rebuilding happens between blocks, when nothing else in the arena is alive.
    for (size_t i = 0; i < plan.buffers.size(); i++)
        if (!seen[i]) plan.buffers[i].first = plan.buffers[i].last = -2;
    for (const auto &step : plan.steps) plan.period = std::lcm(plan.period, step.period);
    for (const auto &step : plan.rebuild) plan.period = std::lcm(plan.period, step.period);
    for (const auto &port : plan.outputs) plan.period = std::lcm(plan.period, port.period);
}

} // namespace longwave::compiler
