// The corpus through the C API: every named artifact opens, or is refused with the status that its
// rule has.
#include "formats/artifact/header.h"
#include "longwave/longwave.h"
#include "tests/unit/formats/artifact/corpus.h"
#include <doctest/doctest.h>
#include <set>
#include <string>

namespace corpus_test {

using namespace longwave;

namespace {

lw_status status_of(const test::Sample &sample) {
    if (sample.name == "header: minor " + std::to_string(artifact::format_minor + 1)) return LW_BAD_VERSION;
    if (sample.name == "header: major 0" || sample.rule == 0)
        return sample.rule == 0 ? LW_OK : LW_BAD_ARTIFACT;
    return sample.rule == 17 ? LW_NO_VARIANT : sample.rule == 20 ? LW_NO_MEMORY : LW_BAD_ARTIFACT;
}

// The API reads the file itself: a size that was claimed, or a copy that differs, has no way in.
bool comes_from_a_file(const test::Sample &sample) {
    return sample.claimed_size == 0 && sample.front.empty() && !sample.bytes.empty();
}

} // namespace

TEST_CASE("corpus: there are at least 300 artifacts, all of different names") {
    std::set<std::string> names;
    const test::Samples samples = test::corpus();
    for (const test::Sample &sample : samples)
        CHECK_MESSAGE(names.insert(sample.name).second, "named twice: ", sample.name);
    CHECK(samples.size() >= 300);
}

TEST_CASE("corpus: each artifact opens or is refused with its status, and leaves nothing behind") {
    size_t tried = 0;
    for (const test::Sample &sample : test::corpus()) {
        if (!comes_from_a_file(sample)) continue;
        ++tried;
        static uint64_t held;
        held = 0;
        const lw_allocator counting = {[](void *, size_t size, size_t alignment) -> void * {
                                           held += size;
                                           return aligned_alloc(alignment, (size + alignment - 1) /
                                                                               alignment * alignment);
                                       },
                                       [](void *, void *memory, size_t size) {
                                           held -= memory ? size : 0;
                                           free(memory);
                                       },
                                       nullptr};
        lw_open_options options{};
        options.struct_size = sizeof options;
        options.allow_unsigned_code = 1;
        options.allocator = &counting;
        options.memory_limit = sample.rule == 20 ? sample.memory_limit : 0;
        lw_model *model = nullptr;
        const lw_status status =
            lw_model_open_memory(sample.bytes.data(), sample.bytes.size(), &options, &model);
        // What a GPU runs is checked when a device opens it; the CPU's half of such a file is sound
        // or not by itself.
        const bool expected = status == (sample.rule == 21 ? LW_OK : status_of(sample)) ||
                              (sample.modules_alone && (status == LW_OK || status == LW_BAD_ARTIFACT));
        CHECK_MESSAGE(expected, sample.name, ": ", std::string(lw_status_text(status)), ": ",
                      std::string(lw_last_error()));
        CHECK((model != nullptr) == (status == LW_OK));
        const std::string rule = "rule V" + std::to_string(sample.rule) + ":";
        if (status == LW_BAD_ARTIFACT && !sample.modules_alone)
            CHECK_MESSAGE(std::string(lw_last_error()).find(rule) != std::string::npos, sample.name, ": ",
                          lw_last_error());
        lw_model_close(model);
        CHECK(held == 0);
    }
    CHECK(tried >= 300);
}

} // namespace corpus_test
