// The keyword model, as trained, on a Vulkan device: one stream of it as on the CPU, many as one.
#include "formats/package/package.h"
#include "tests/support/numbers.h"
#include "tests/support/vulkan_streams.h"

namespace vulkan_keyword_test {

using namespace longwave;
using namespace longwave::test;

namespace {

const Both &keyword_models() {
    static const Both models = [] {
        auto package = package::read("examples/kws/model");
        REQUIRE_MESSAGE(package, package.status().message());
        return Both(compiler::compile(*std::move(package), vulkan_options_here()));
    }();
    return models;
}

} // namespace

TEST_CASE("vulkan streams: the keyword model listens as on the CPU") {
    const Both &models = keyword_models();
    REQUIRE(models.gpu.info.has_stream == 1);
    const std::vector<float> x = random_numbers(16000, 8, 0.2);
    Outputs rows[2];
    for (const bool gpu : {false, true}) {
        const cli::Model &model = gpu ? models.gpu : models.cpu;
        rows[gpu].resize(model.stream_outputs.size());
        const Status status = stream_of(model).push(x.data(), x.size(), into(rows[gpu]));
        REQUIRE_MESSAGE(status, status.message());
    }
    REQUIRE(rows[1].size() == 2);
    for (size_t output = 0; output < rows[1].size(); ++output) {
        const double error = distance(rows[1][output], rows[0][output]);
        MESSAGE("output ", output, ": ", error, " of the peak");
        CHECK(error <= 1e-5);
    }
}

TEST_CASE("vulkan streams: many of the keyword model have the bits of one, in as many dispatches") {
    const cli::Model &gpu = keyword_models().gpu;
    const Flush one = many_have_the_bits_of_one(gpu, {.streams = 1, .amplitude = 0.2f});
    CHECK(one.dispatches <= 12);
    const uint32_t n = wanted_streams(64);
    const Flush all = many_have_the_bits_of_one(gpu, {.streams = n, .amplitude = 0.2f});
    CHECK(all.dispatches == one.dispatches);
    CHECK(all.submissions == one.submissions);
    CHECK(all.recordings == 0); // their first block's commands
    MESSAGE(n, " streams: ", all.dispatches, " dispatches in ", all.submissions, " submissions a block");
}

} // namespace vulkan_keyword_test
