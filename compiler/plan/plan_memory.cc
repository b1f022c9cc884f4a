#include "compiler/plan/plan_memory.h"
#include "compiler/plan/rounding.h"
#include "compiler/plan/storage.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

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
            text += fmt::format(" ({}+f%{}*{}+tile*{})", v.value, v.modulus, v.mul, v.tile_mul);
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
                taken.emplace_back(other->offset, to_lines(other->offset + other->bytes));
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

} // namespace longwave::compiler
