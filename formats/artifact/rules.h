// The rules themselves, one function each; private to verify.cc. Every rule may rely on those
// before it, in verify.cc's order.
#pragma once
#include "formats/artifact/verify.h"

namespace longwave::artifact {

struct Subject {
    const Request &request;
    const uint8_t *front; // header and plan
    const Header *header = nullptr;
    const fb::Plan *plan = nullptr;
};

// What the format allows at most.
namespace cap {
inline constexpr uint64_t file = 1ull << 40;
inline constexpr uint64_t plan = 1ull << 30; // flatbuffers offsets are 32 bits, signed in places
inline constexpr uint64_t space = 1ull << 40;
inline constexpr uint32_t items = 65535; // kernels, steps of an entry, labels, fields of the state
inline constexpr uint32_t kernel_args = 64;
// Streams that a kernel computes at once; such kernels of one kernel.
inline constexpr uint32_t streams_together = 64, together = 4;
inline constexpr uint32_t rank = 6;
inline constexpr uint32_t extent = 1u << 24;
inline constexpr uint64_t elements = 1ull << 38; // of one argument
inline constexpr uint32_t name = 256;
inline constexpr uint32_t entries = 64, streams = 16, variants = 16, segments = 64, ports = 256;
inline constexpr uint32_t block = 1u << 24, period = 1u << 20, tiles = 1u << 20, slots = 1u << 24;
// Of an entry: its steps, each as often as it has tiles. Of a rebuild: and as it has firings.
inline constexpr uint64_t step_tiles = 1ull << 24;
// Of a rebuild: the blocks it goes back, in times its steps.
inline constexpr uint64_t step_blocks = 1ull << 26;
// Ticks: a finished stream runs them through as zeros, within one pull.
inline constexpr uint32_t delay = 1u << 20;
// What zero steps clear in a block, in times everything the entry has.
inline constexpr uint32_t cleared_memories = 4;
// What steps move in a block, in times the memory of their entry, and once more for each tick of the
// block: a recurrence reads its weights in every row. For each step, whatever the memory. And what a
// call counts at least, for it takes time without any.
inline constexpr uint32_t moved_memories = 32;
inline constexpr uint64_t step_moves = 4096, call = 1024;
// Prepare: in times weights and derived space.
inline constexpr uint32_t prepare_memories = 16;
// Units of V10 for each byte of the plan. Real plans need a thirtieth of one: a call takes hundreds
// of bytes to say what it touches, and touches a few pieces.
inline constexpr uint64_t work = 4;
} // namespace cap

// Before the entry of a kernel in its image: the bytes of scratch it was compiled to need, a
// little-endian 64-bit number.
inline constexpr uint32_t need_bytes = 8;

inline Broken broken(uint8_t rule, const char *text, uint64_t a = 0, uint64_t b = 0) {
    return {rule, text, a, b, false};
}

// Of V5. flatbuffers::Verifier aligns a list's length but not its elements. The only elements wider than a
// length are scratch sizes and strides of streams.
inline Broken misaligned_lists(const fb::Plan &plan) {
    const auto aligned = [](const flatbuffers::Vector<uint64_t> &list) {
        return list.size() == 0 || reinterpret_cast<uintptr_t>(list.Data()) % alignof(uint64_t) == 0;
    };
    for (uint32_t v = 0; v < plan.variants()->size(); ++v)
        if (!aligned(*plan.variants()->Get(v)->scratch()))
            return broken(5, "scratch sizes are not aligned: variant", v);
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k)
        if (const auto *together = plan.kernels()->Get(k)->together())
            for (uint32_t t = 0; t < together->size(); ++t)
                if (!aligned(*together->Get(t)->strides()))
                    return broken(5, "strides of streams are not aligned: kernel", k);
    return {};
}

// rules_file.cc: header, container, hashes, what this machine can take
Broken v1_length(const Subject &);
Broken v2_magic_and_version(const Subject &);
Broken v3_declared_size(const Subject &);
Broken v4_flags(const Subject &);
Broken v5_flatbuffer(Subject &); // sets plan
Broken v8_segments(const Subject &);
Broken v9_ranges(const Subject &);
Broken v17_variant(const Subject &);
Broken v19_hashes(const Subject &);
Broken v20_memory(const Subject &);

// The plan's numbers and names, before anything is said about memory.
Broken v6_caps(const Subject &);     // rules_caps.cc
Broken v7_sizes(const Subject &);    // rules_caps.cc
Broken v11_kernels(const Subject &); // rules_indices.cc
Broken v13_indices(const Subject &); // rules_indices.cc
Broken v15_state(const Subject &);   // rules_state.cc
Broken v16_names(const Subject &);   // rules_names.cc
Broken v18_values(const Subject &);  // rules_values.cc

// What the steps do to memory.
Broken v12_calls(const Subject &); // rules_calls.cc, and its ports in rules_ports.cc
Broken v12_ports(const Subject &, const fb::Entry &);
Broken v12_together(const Subject &);      // rules_together.cc
Broken v10_lifetimes(const Subject &);     // rules_lifetimes.cc
Broken v14_single_writes(const Subject &); // rules_overlap.cc
Broken v14_traffic(const Subject &);       // rules_traffic.cc

} // namespace longwave::artifact
