// What a model says about itself, and statuses about what went wrong.
#include "longwave/longwave.h"
#include "tests/support/session.h"
#include "tests/support/tiny_family.h"
#include <cstring>
#include <doctest/doctest.h>
#include <string>

namespace info_test {

using namespace longwave;
using namespace longwave::test;

TEST_CASE("introspection: everything about a model") {
    Draft draft = audio_model();
    draft.plan.report = "{\"x\":1}";
    const std::vector<uint8_t> bytes = draft.bytes();
    const Model model(bytes);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    CHECK(std::string(info.name) == "tiny-audio");
    CHECK(std::string(info.producer) == "tests");
    CHECK(std::string(info.report) == "{\"x\":1}");
    CHECK(std::string(info.certificates) == "{}");
    CHECK(info.inputs == 1);
    CHECK(info.labels == 3);
    CHECK(info.run_outputs == 2);
    CHECK(info.stream_outputs == 2);
    CHECK(info.has_run == 1);
    CHECK(info.has_stream == 1);
    CHECK(info.run_capacity == 64);
    CHECK(info.stream_block == 4);
    CHECK(info.stream_state_bytes == 192);
    CHECK(info.derived_bytes == 64);
    CHECK(info.artifact_bytes == bytes.size());
    CHECK(info.stream_memory_bytes > 128 + 64);
    CHECK(info.run_memory_bytes > 640);
    lw_input_info input{};
    input.struct_size = sizeof input;
    REQUIRE(lw_model_input(model, 0, &input) == LW_OK);
    CHECK(std::string(input.name) == "audio");
    CHECK(input.kind == LW_INPUT_AUDIO);
    CHECK(input.width == 1);
    CHECK(input.sample_rate == 1000);
    CHECK(lw_model_input(model, 1, &input) == LW_NOT_FOUND);
    lw_output_info output{};
    output.struct_size = sizeof output;
    REQUIRE(lw_model_stream_output(model, 1, &output) == LW_OK);
    CHECK(std::string(output.name) == "sums");
    CHECK(output.width == 3);
    CHECK(output.clock_num == 1);
    CHECK(output.clock_den == 8);
    REQUIRE(lw_model_run_output(model, 1, &output) == LW_OK);
    CHECK(std::string(output.name) == "mean");
    CHECK(output.clock_num == 0);
    CHECK(lw_model_run_output(model, 2, &output) == LW_NOT_FOUND);
    CHECK(lw_model_stream_output(model, 2, &output) == LW_NOT_FOUND);
    output.struct_size = 0;
    CHECK(lw_model_run_output(model, 0, &output) == LW_INVALID_ARGUMENT);
    CHECK(std::string(lw_model_label(model, 2)) == "three");
    CHECK(lw_model_label(model, 3) == nullptr);
    CHECK(lw_model_label(nullptr, 0) == nullptr);
    CHECK(lw_model_get_info(nullptr, &info) == LW_INVALID_ARGUMENT);
    CHECK(lw_model_get_info(model, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(std::string(lw_version()) == "0.2.0");
}

TEST_CASE("introspection: every stream entry with its block, delay and cost, every field of the state with "
          "its bytes") {
    const Model model(blocks_model({{16, 4, 48}, {16}, 20}));
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    REQUIRE(info.stream_entries == 3);
    CHECK(info.stream_block == 16);
    CHECK(info.stream_delay == 20);
    const uint32_t blocks[] = {16, 4, 48};
    // Tiles are calls: two sums in 16 ticks, six in 48.
    const uint64_t calls[] = {5, 5, 8}, periods[] = {1, 2, 1};
    for (uint32_t i = 0; i < 3; ++i) {
        lw_stream_entry_info entry = LW_STREAM_ENTRY_INFO_INIT;
        REQUIRE(lw_model_stream_entry(model, i, &entry) == LW_OK);
        CHECK(entry.block == blocks[i]);
        CHECK(entry.delay == 20);
        CHECK(entry.period == periods[i]);
        CHECK(entry.calls == calls[i]);
        CHECK(entry.cache_bytes == (i == 0 ? 128u : 0u));
        CHECK(entry.rebuild_calls == (i == 0 ? 1u : 0u));
    }
    // Block 4: the FIR reads a ring of 96 and 9 taps and writes 4; the total reads 4, its sum twice
    // 8 bytes, writes 4; every other block the sums read 8, their sum twice, write 3.
    lw_stream_entry_info second = LW_STREAM_ENTRY_INFO_INIT;
    REQUIRE(lw_model_stream_entry(model, 1, &second) == LW_OK);
    CHECK(second.moved_bytes == (96 + 9 + 4) * 4 + (4 + 4) * 4 + 16 + ((8 + 3) * 4 + 16) / 2);
    REQUIRE(info.state_fields == 4);
    lw_state_field audio = LW_STATE_FIELD_INIT, sum = LW_STATE_FIELD_INIT;
    REQUIRE(lw_model_state_field(model, 0, &audio) == LW_OK);
    REQUIRE(lw_model_state_field(model, 3, &sum) == LW_OK);
    CHECK(std::string(audio.layer) == "input");
    CHECK(std::string(audio.name) == "audio");
    CHECK(audio.kind == LW_STATE_HISTORY);
    CHECK(audio.elem == LW_STATE_ELEM_F32);
    REQUIRE(audio.n_dims == 2);
    CHECK(audio.dims[0] == 96);
    CHECK(audio.dims[1] == 1);
    CHECK(audio.bytes == 384);
    CHECK(sum.kind == LW_STATE_CARRY);
    CHECK(sum.elem == LW_STATE_ELEM_F64);
    CHECK(sum.bytes == 8);
    lw_output_info output{};
    output.struct_size = sizeof output;
    REQUIRE(lw_model_stream_output(model, 2, &output) == LW_OK);
    CHECK(output.delay == 20);
    const Model tokens(token_model());
    REQUIRE(lw_model_get_info(tokens, &info) == LW_OK);
    CHECK(info.stream_entries == 1);
    CHECK(info.state_fields == 1);
    const Model whole(tiles_model());
    REQUIRE(lw_model_get_info(whole, &info) == LW_OK);
    CHECK(info.stream_entries == 0);
    CHECK(lw_model_stream_entry(whole, 0, &second) == LW_NO_STREAM);
    CHECK(lw_model_state_field(whole, 0, &sum) == LW_NO_STREAM);
    CHECK(lw_model_stream_entry(model, 3, &second) == LW_NOT_FOUND);
    CHECK(std::string(lw_last_error()) == "stream entry 3; the model has 3");
    CHECK(lw_model_state_field(model, 4, &sum) == LW_NOT_FOUND);
    CHECK(lw_model_stream_entry(nullptr, 0, &second) == LW_INVALID_ARGUMENT);
    CHECK(lw_model_stream_entry(model, 0, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_model_state_field(model, 0, nullptr) == LW_INVALID_ARGUMENT);
}

TEST_CASE("status: every status has a text of its own") {
    std::vector<std::string> seen;
    for (int status : {0, 1, 2, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 30, 31, 32, 40}) {
        const std::string text = lw_status_text(static_cast<lw_status>(status));
        CHECK(text != "unknown status");
        for (const std::string &other : seen) CHECK(text != other);
        seen.push_back(text);
    }
    CHECK(std::string(lw_status_text(static_cast<lw_status>(99))) == "unknown status");
}

TEST_CASE("status: a detail longer than its buffer is cut, not overrun") {
    lw_model *model = nullptr;
    const std::string path(4000, 'x');
    CHECK(lw_model_open(("/tmp/" + path).c_str(), nullptr, &model) == LW_IO); // ENAMETOOLONG
    CHECK(strlen(lw_last_error()) < 512);
    CHECK(strlen(lw_last_error()) > 200);
}

} // namespace info_test
