#include "tests/support/tiny_text.h"
#include <algorithm>

namespace longwave::test {

using fb::ArgKind;
using fb::Elem;
using fb::Space;

Draft bigram_model(const Bigram &bigram) {
    Draft draft = empty_draft("tiny-bigram");
    const uint32_t v = bigram.vocabulary,
                   largest = *std::max_element(bigram.blocks.begin(), bigram.blocks.end());
    add_input(draft, "ids", fb::InputKind::tokens, v);
    std::vector<float> weights = bigram.table;
    weights.resize((weights.size() + 15) / 16 * 16);
    const uint64_t gain = weights.size() * 4;
    weights.push_back(bigram.gain);
    weights.resize((weights.size() + 15) / 16 * 16);
    set_weights(draft, weights);
    add_field(draft, "input", "ids", fb::StateKind::history, {2 * largest, 1}, Elem::i32);
    const std::vector<fb::Dim> table = {{v, 1}, {v, static_cast<int32_t>(v)}};
    for (const uint32_t block : bigram.blocks) {
        const std::vector<fb::Dim> rows = {{v, 1}, {block, static_cast<int32_t>(v)}};
        const auto kernel = static_cast<uint16_t>(draft.plan.kernels.size());
        add_kernel(draft, embedding, "embed-" + std::to_string(block),
                   {arg(ArgKind::input, Elem::i32, {{block, 1}}), arg(ArgKind::input, Elem::f32, table),
                    arg(ArgKind::output, Elem::f32, rows)});
        add_kernel(draft, scale, "scale-" + std::to_string(block),
                   {arg(ArgKind::input, Elem::f32, rows), arg(ArgKind::input, Elem::f32, {{1, 1}}),
                    arg(ArgKind::output, Elem::f32, rows)});
        auto entry = std::make_unique<fb::EntryT>();
        entry->kind = fb::EntryKind::stream;
        entry->block = block;
        const uint64_t bytes = (uint64_t{block} * v * 4 + 63) / 64 * 64;
        entry->arena_bytes = 2 * bytes;
        const uint32_t slots = 2 * largest / block;
        entry->inputs.push_back(input_port(place(Space::state, 0, slots, 4 * block), block, 4));
        entry->steps.push_back(call(
            "embed", kernel,
            bindings(at(Space::state, 0, slots, 4 * block), at(Space::weights, 0), at(Space::arena, 0))));
        entry->steps.push_back(
            call("scale", static_cast<uint16_t>(kernel + 1),
                 bindings(at(Space::arena, 0), at(Space::weights, gain), at(Space::arena, bytes))));
        entry->outputs.push_back(output_port("logits", place(Space::arena, bytes), v, block, 1, 1));
        draft.plan.entries.push_back(std::move(entry));
    }
    return draft;
}

Bigram alphabet() {
    Bigram bigram{256, std::vector<float>(256 * 256), {1, 8, 64}};
    for (size_t id = 0; id < 256; ++id)
        bigram.table[id * 256 + (id >= 'a' && id < 'z' ? id + 1 : size_t{'a'})] = 3;
    return bigram;
}

} // namespace longwave::test
