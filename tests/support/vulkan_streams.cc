#include "tests/support/vulkan_streams.h"
#include "tests/support/numbers.h"
#include <cstdlib>

namespace longwave::test {

cli::Stream stream_of(const cli::Model &model, uint32_t entry, lw_sample_format format) {
    auto made = cli::Stream::create(model, format, entry);
    REQUIRE_MESSAGE(made, made.status().message());
    return *std::move(made);
}

void push(const cli::Stream &stream, const float *x, size_t ticks) {
    size_t taken = 0;
    CHECK(lw_stream_push(stream.get(), x, ticks, &taken) == LW_OK);
    CHECK(taken == ticks);
}

void pull(const cli::Stream &stream, std::vector<float> &rows) {
    lw_stream_row out{};
    out.struct_size = sizeof out;
    while (lw_stream_pull(stream.get(), &out) == LW_OK)
        rows.insert(rows.end(), out.data, out.data + out.width);
}

std::vector<uint8_t> saved(const cli::Stream &stream) {
    size_t n = 0;
    REQUIRE(lw_stream_save(stream.get(), nullptr, 0, &n) == LW_OK);
    std::vector<uint8_t> bytes(n);
    REQUIRE(lw_stream_save(stream.get(), bytes.data(), n, &n) == LW_OK);
    return bytes;
}

Flush flush() {
    const lw_vulkan_stats before = vulkan_stats();
    REQUIRE(lw_device_flush(vulkan_device().get()) == LW_OK);
    const lw_vulkan_stats after = vulkan_stats();
    return {after.dispatches - before.dispatches, after.runs - before.runs,
            after.recordings - before.recordings};
}

namespace {

// A stream with its input, and how much of it was pushed.
struct Member {
    cli::Stream stream;
    std::vector<float> x, rows;
    size_t done = 0; // blocks
};

} // namespace

Flush many_have_the_bits_of_one(const cli::Model &gpu, const Crowd &crowd) {
    const size_t block = gpu.entry(crowd.entry).block,
                 floats = block * std::max(1u, gpu.inputs[0].width); // of a block
    const auto push_block = [&](const cli::Stream &stream, const std::vector<float> &x, size_t index) {
        push(stream, x.data() + index * floats, block);
    };
    std::vector<Member> members;
    for (uint32_t s = 0; s < crowd.streams; ++s) {
        members.push_back({stream_of(gpu, crowd.entry),
                           random_numbers((crowd.blocks + 4) * floats, 100 + s, crowd.amplitude),
                           {}});
        Member &member = members.back();
        for (; member.done < s % 5; ++member.done) { // some are further
            push_block(member.stream, member.x, member.done);
            pull(member.stream, member.rows);
        }
    }
    Flush last;
    for (size_t round = 0; round < crowd.blocks; ++round) {
        for (Member &member : members) push_block(member.stream, member.x, member.done++);
        if (round % 3 == 1) { // with another block in flight
            REQUIRE(lw_device_submit(vulkan_device().get()) == LW_OK);
            for (Member &member : members) pull(member.stream, member.rows);
            continue;
        }
        last = flush();
        const uint64_t dispatches = vulkan_stats().dispatches;
        for (Member &member : members) pull(member.stream, member.rows);
        CHECK(vulkan_stats().dispatches == dispatches); // nothing was left to pull
    }
    const cli::Stream alone = stream_of(gpu, crowd.entry);
    for (const Member &member : members) {
        std::vector<float> expected;
        REQUIRE(lw_stream_reset(alone.get()) == LW_OK);
        for (size_t index = 0; index < member.done; ++index) {
            push_block(alone, member.x, index);
            pull(alone, expected);
        }
        CHECK(same_bits(member.rows, expected));
    }
    return last;
}

uint32_t wanted_streams(uint32_t otherwise) {
    const char *wanted = std::getenv("LONGWAVE_TEST_STREAMS");
    return wanted ? static_cast<uint32_t>(std::atoi(wanted)) : otherwise;
}

} // namespace longwave::test
