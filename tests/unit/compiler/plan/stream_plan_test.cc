// Planning streams: rings, caches, blocks, delays, and the fields of a state.
#include "compiler/passes/passes.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/stream_family.h"
#include "tests/unit/compiler/ir/graphs.h"
#include "tests/unit/compiler/plan/small_graph.h"
#include <doctest/doctest.h>

namespace stream_plan_test {

using namespace longwave;
using namespace longwave::compiler;
using ir::graph_of;

TEST_CASE("stream plan: a convolution's input is a ring of its history and one block") {
    auto g = make_streaming(graph_of(small));
    REQUIRE(g);
    Storage storage;
    auto family = plan_streams(*g, {4}, "direct", storage);
    INFO(family.status().message());
    REQUIRE(family);
    const EntryPlan *plan = &family->entries[0];
    REQUIRE(plan->steps.size() == 1); // gelu is an epilogue
    CHECK(plan->steps[0].spec.find("\"gelu\"") != std::string::npos);
    // 7 rows back and 4 new ones: 12 is the next multiple of 4; the slot of a block follows from
    // its number.
    REQUIRE(plan->inputs.size() == 1);
    CHECK(plan->inputs[0].place.slots == 3);
    CHECK(plan->inputs[0].place.slot_bytes == 4 * 16 * 4);
    const auto &position = std::get<Scalar>(plan->steps[0].args[2]);
    CHECK(position.modulus == 3);
    CHECK(position.mul == 4);
    REQUIRE(family->record.fields().size() == 1);
    CHECK(family->record.fields()[0]->kind == StateKind::history);
    CHECK(family->record.fields()[0]->dims == std::vector<uint32_t>{12, 16});
    CHECK(family->record.fields()[0]->needs == 7);
    CHECK(family->record.bytes() == 12 * 16 * 4);
}

TEST_CASE("stream: a two-sided convolution is refused by layer and reason") {
    auto g = graph_of(R"(graph "two"
%0 = input "x" features : f32[16] @1/1
%1 = const "k" : [2,16,8]
%2 = const "D" : [1,16]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=1} ; layer block.0.conv
output "y" %3
)");
    auto stream = make_streaming(g);
    REQUIRE_FALSE(stream);
    CHECK(stream.status().fault() == Fault::usage);
    CHECK(stream.status().message().find("layer block.0.conv looks ahead") != std::string::npos);
}

TEST_CASE(
    "streams of several blocks: one record, rings that hold the longest look-back and the largest block") {
    auto g = make_streaming(graph_of(small));
    REQUIRE(g);
    Storage storage;
    auto family = plan_streams(*g, {1, 4, 12}, "direct", storage);
    INFO(family.status().message());
    REQUIRE(family);
    REQUIRE(family->entries.size() == 3);
    REQUIRE(family->record.fields().size() == 1);
    CHECK(family->record.fields()[0]->dims ==
          std::vector<uint32_t>{24, 16}); // 7 back and 12 new, a multiple of 12: no cache is rebuilt
    for (const EntryPlan &entry : family->entries) {
        CHECK(entry.inputs[0].place.slots * entry.block == 24);
        CHECK(entry.cache_bytes == 0);
        CHECK(entry.rebuild.empty());
    }
}

TEST_CASE(
    "streams: spectra are a cache of their entry, with one block as well, and rebuilt from the history") {
    std::string text = small;
    text.replace(text.find("16,8]"), 5, "16,64]");
    auto g = make_streaming(graph_of(text));
    REQUIRE(g);
    Storage storage;
    for (const std::vector<uint32_t> &blocks : {std::vector<uint32_t>{16}, {16, 32}}) {
        auto family = plan_streams(*g, blocks, "partitioned", storage);
        REQUIRE(family);
        CHECK(family->record.fields().size() == 1);
        const uint32_t news =
            blocks.back() * static_cast<uint32_t>(blocks.size()); // one more to rebuild from
        CHECK(family->record.fields()[0]->dims[0] >= 63 + news);
        for (EntryPlan &entry : family->entries) {
            plan_memory(entry);
            CHECK(entry.cache_bytes > 0);
            REQUIRE(entry.rebuild.size() == 1);
            CHECK(entry.rebuild[0].replay_from == 64 / entry.block);
            for (const Argument &argument : entry.rebuild[0].args)
                if (const auto *place = std::get_if<Place>(&argument))
                    CHECK((place->buffer & state_buffer ? place->slots > 1 : true));
        }
    }
}

TEST_CASE("streams: what a saved state needs is the same for every algorithm; rings and rows that it keeps "
          "differ") {
    std::string text = small;
    text.replace(text.find("16,8]"), 5, "16,64]");
    auto g = make_streaming(graph_of(text));
    REQUIRE(g);
    Storage storage;
    auto direct = plan_streams(*g, {16}, "direct", storage);
    auto partitioned = plan_streams(*g, {16}, "partitioned", storage);
    REQUIRE(direct);
    REQUIRE(partitioned);
    REQUIRE(direct->record.fields().size() == 1);
    REQUIRE(partitioned->record.fields().size() == 1);
    const StateField &a = *direct->record.fields()[0], &b = *partitioned->record.fields()[0];
    CHECK(a.layer == b.layer);
    CHECK(a.name == "long_conv");
    CHECK(b.name == "long_conv");
    CHECK(a.needs == 63); // 64 taps
    CHECK(b.needs == 63);
    CHECK(a.keeps == 63);
    CHECK(b.keeps == 64); // four blocks of spectra
    for (const StateField *field : {&a, &b}) CHECK(field->keeps + 16 <= field->dims[0]);
}

TEST_CASE("streams of several blocks: each is a multiple of the smallest and cuts no hop") {
    auto g = make_streaming(graph_of(small));
    REQUIRE(g);
    CHECK(check_blocks(*g, {1, 64, 320}));
    const Status uneven = check_blocks(*g, {64, 160});
    CHECK(uneven.fault() == Fault::usage);
    CHECK(uneven.message().find("multiple of the smallest") != std::string::npos);
    CHECK_FALSE(check_blocks(*g, {16, 16}));
    CHECK_FALSE(check_blocks(*g, {0}));
}

namespace {

// One second of a room, streamed in these blocks.
Expected<StreamFamily> room_in(const std::vector<uint32_t> &blocks) {
    const auto g =
        graph_of("graph \"room\"\n%0 = input \"x\" features : f32[1] @1/1\n"
                 "%1 = const \"k\" : [1,1,44100]\n%2 = const \"D\" : [1,1]\n"
                 "%3 = long_conv(%0, %1, %2) {channels=1, two_sided=0} ; layer room\noutput \"y\" %3\n");
    Storage storage(Storage::Weights::counted);
    return plan_streams(g, blocks, "", storage);
}

} // namespace

TEST_CASE("streams of many blocks: the state stays near the look-back and the largest block, or the blocks "
          "are refused") {
    constexpr uint64_t most = 4 * 4 * (2 * 44100 + 20 * 4096 * 4) + (1 << 20);
    for (const std::vector<uint32_t> &blocks :
         std::vector<std::vector<uint32_t>>{{1},
                                            {441},
                                            {4093},
                                            {64, 128, 256, 512, 1024},
                                            {1, 2, 4, 8, 16, 32, 64, 2048, 4096},
                                            {1, 64, 441},
                                            {1, 64, 480}}) {
        const auto family = room_in(blocks);
        INFO(family.status().message());
        REQUIRE(family);
        CHECK(family->record.bytes() <= most);
    }
    const auto refused = room_in({441, 480, 1, 64, 4096});
    REQUIRE(!refused);
    CHECK(refused.status().fault() == Fault::usage);
    CHECK(refused.status().message().find("--blocks 441,480,1,64,4096") == 0);
    CHECK(refused.status().message().find("4096 does not go with 441,480,1,64") != std::string::npos);
    CHECK(refused.status().message().find('\n') == std::string::npos);
    CHECK(!room_in({1, 1021, 2049, 4093}));
}

TEST_CASE("a delay reaches the port in input ticks, behind a stride as well") {
    auto g = graph_of(R"(graph "late"
%0 = input "x" features : f32[16] @1/1 causal delay=6
%1 = const "w" : [16,16,2,1]
%2 = conv2d(%0, %1) {stride_t=2, stride_f=1, groups=1, bias=0, frequency=0} ; layer conv
output "y" %2
)");
    Storage storage;
    auto family = plan_streams(g, {2}, "", storage);
    INFO(family.status().message());
    REQUIRE(family);
    CHECK(family->entries[0].outputs[0].delay == 6);
}

TEST_CASE("state: ops of one layer that name a field alike have one each, entries find theirs again") {
    StateRecord record;
    const auto field = [&](const char *op) { return record.carry("layer", "count", op, Elem::f64, {1}); };
    const BufferId first = field("scan"), second = field("softmax");
    CHECK(first != second);
    CHECK(field("scan") == first);
    CHECK(field("softmax") == second);
    const BufferId ring = record.history({.layer = "before", .name = "conv1d", .dims = {8, 16}, .needs = 3});
    record.arrange();
    REQUIRE(record.fields().size() == 3);
    CHECK(record.fields()[0] == &record.at(ring)); // sorted by layer, then name
    CHECK(record.fields()[1]->name == "count");
    CHECK(record.fields()[2]->name == "count of softmax");
    CHECK(record.at(ring).offset == 0);
    CHECK(record.at(first).offset == 512);
    CHECK(record.at(second).offset == 576);
    CHECK(record.bytes() == 640);
}

} // namespace stream_plan_test
