// Numbers that the host changes while a stream runs: a mix and a gain, against float64 loops over the
// definition. However the input is cut, over saved and copied states, in each block of a file.
#include "formats/artifact/header.h"
#include "tests/support/compiled_model.h"
#include "tests/support/named_state.h"
#include "tests/support/numbers.h"
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>

namespace host_scalars_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t width = 20, length = 160;
// Three float32 products and sums within a unit each, and tanh within two, of values of at most 12.
constexpr double limit = 5e-6;

// y = gain * (x * (1 - mix) + tanh(x) * mix), with a smoothed gain and a mix that jumps.
const char *const model_json = R"({"format": "longwave-model", "version": 2, "name": "mixer", "length": 160,
    "inputs": [{"name": "x", "kind": "features", "width": 20}],
    "graph": [
        {"name": "wet", "op": "tanh", "inputs": ["x"]},
        {"name": "mix", "op": "scalar", "inputs": ["x"],
         "attributes": {"name": "mix", "initial": 0.25, "low": 0.0, "high": 1.0, "smoothed": 0}},
        {"name": "gain", "op": "scalar", "inputs": ["x"],
         "attributes": {"name": "gain", "unit": "times", "initial": 1.0, "low": -2.0, "high": 2.0, "smoothed": 1}},
        {"name": "scaled", "op": "mul", "inputs": ["wet", "mix"]},
        {"name": "part", "op": "mul", "inputs": ["x", "mix"]},
        {"name": "less", "op": "affine", "inputs": ["part", {"tensor": "minus"}, {"tensor": "zero"}]},
        {"name": "dry", "op": "add", "inputs": ["x", "less"]},
        {"name": "both", "op": "add", "inputs": ["dry", "scaled"]},
        {"name": "y", "op": "mul", "inputs": ["both", "gain"]}],
    "outputs": [{"name": "y", "from": "y"}]})";

const Expected<compiler::Compiled> &mixer() {
    static const Expected<compiler::Compiled> made = [] {
        compiler::Options options = options_here();
        options.stream = compiler::StreamMode::required;
        options.blocks = {16, 1, 32};
        return compiled(model_json,
                        {{"minus", {{width}, std::vector<float>(width, -1)}},
                         {"zero", {{width}, std::vector<float>(width, 0)}}},
                        options);
    }();
    return made;
}

std::vector<float> expected(const std::vector<float> &x, const std::vector<double> &gain,
                            const std::vector<double> &mix) {
    std::vector<float> y;
    for (size_t i = 0; i < x.size(); i++) {
        const double dry = x[i], m = mix[i / width];
        y.push_back(static_cast<float>(gain[i / width] * (dry * (1 - m) + std::tanh(dry) * m)));
    }
    return y;
}

void check_close(const std::vector<float> &y, const std::vector<float> &of) {
    REQUIRE(y.size() == of.size());
    double worst = 0;
    for (size_t i = 0; i < y.size(); i++) worst = std::max(worst, std::fabs(double{y[i]} - double{of[i]}));
    CHECK(worst <= limit);
}

struct Stream {
    lw_stream *stream = nullptr;
    explicit Stream(const cli::Model &model, uint32_t block = 16) {
        lw_stream_options options = LW_STREAM_OPTIONS_INIT;
        options.format = LW_F32;
        options.block = block;
        REQUIRE(lw_stream_create(model.handle.get(), &options, &stream) == LW_OK);
    }
    ~Stream() { lw_stream_destroy(stream); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    void set(const char *name, float value) const {
        REQUIRE_MESSAGE(lw_stream_set(stream, name, value) == LW_OK, lw_last_error());
    }
    float get(const char *name) const {
        float value = NAN;
        REQUIRE(lw_stream_get(stream, name, &value) == LW_OK);
        return value;
    }
    // All rows that come of these ticks, pushed in pieces of so many.
    std::vector<float> rows(const float *x, size_t ticks, size_t piece) const {
        std::vector<float> y;
        for (size_t at = 0; at < ticks;) {
            const size_t n = std::min(piece, ticks - at);
            size_t taken = 0;
            REQUIRE(lw_stream_push(stream, x + at * width, n, &taken) == LW_OK);
            at += taken;
            lw_stream_row row = LW_STREAM_ROW_INIT;
            while (lw_stream_pull(stream, &row) == LW_OK) y.insert(y.end(), row.data, row.data + width);
        }
        return y;
    }
    std::vector<uint8_t> saved() const {
        size_t n = 0;
        REQUIRE(lw_stream_save(stream, nullptr, 0, &n) == LW_OK);
        std::vector<uint8_t> bytes(n);
        REQUIRE(lw_stream_save(stream, bytes.data(), n, &n) == LW_OK);
        return bytes;
    }
};

// From tick 32 on the gain is -1.5, from tick 64 on it is 0.5 and the mix 1, from 96 on the mix is 0.
void change(const Stream &stream, size_t tick) {
    if (tick == 32) stream.set("gain", 2), stream.set("gain", -1.5f); // the last one counts
    if (tick == 64) stream.set("gain", 0.5f), stream.set("mix", 1);
    if (tick == 96) stream.set("mix", 0);
}

// What that is row by row in blocks of so many ticks.
std::vector<float> expected_of_changes(const std::vector<float> &x, size_t block) {
    std::vector<double> gain(length, 1), mix(length, 0.25);
    for (size_t t = 0; t < length; t++) {
        mix[t] = t < 64 ? 0.25 : t < 96 ? 1 : 0;
        const auto ramp = [&](size_t from, double before, double after) {
            const double part =
                t - from < block ? static_cast<double>(t - from + 1) / static_cast<double>(block) : 1;
            return before + (after - before) * part;
        };
        gain[t] = t < 32 ? 1 : t < 64 ? ramp(32, 1, -1.5) : ramp(64, -1.5, 0.5);
    }
    return expected(x, gain, mix);
}

} // namespace

TEST_CASE("scalars: a run and a new stream have the initial numbers") {
    const cli::Model model = opened(mixer());
    const std::vector<float> x = random_numbers(length * width, 1, 3),
                             y = expected(x, std::vector<double>(length, 1),
                                          std::vector<double>(length, 0.25));
    check_close(outputs_of_run(model, sequence_of(x, width))[0], y);
    for (const uint32_t block : {1u, 16u, 32u})
        check_close(Stream(model, block).rows(x.data(), length, 7), y);
}

TEST_CASE(
    "scalars: changes hold from the next block on, in each block of the file, however the input is cut") {
    const cli::Model model = opened(mixer());
    const std::vector<float> x = random_numbers(length * width, 2, 3);
    for (const uint32_t block : {1u, 16u, 32u}) {
        std::vector<float> first;
        for (const size_t piece : {1, 5, 16, 32}) {
            const Stream stream(model, block);
            std::vector<float> y;
            for (size_t tick = 0; tick < length; tick += 32) {
                change(stream, tick);
                const std::vector<float> more = stream.rows(x.data() + tick * width, 32, piece);
                y.insert(y.end(), more.begin(), more.end());
            }
            INFO("block ", block, ", pieces of ", piece);
            check_close(y, expected_of_changes(x, block));
            if (first.empty()) first = y;
            CHECK(same_bits(first, y));
        }
    }
}

TEST_CASE("scalars: input that waits has the number that is set before its block begins") {
    const cli::Model model = opened(mixer());
    const std::vector<float> x(16 * width, 1);
    const Stream stream(model);
    CHECK(stream.rows(x.data(), 15, 15).empty());
    stream.set("mix", 0), stream.set("gain", 2);
    const std::vector<float> y = stream.rows(x.data(), 1, 1);
    for (size_t t = 0; t < 16; t++)
        CHECK(y.at(t * width) == doctest::Approx(1 + static_cast<double>(t + 1) / 16).epsilon(1e-6));
    CHECK(y.at(15 * width) == 2); // the newest row has the number itself
}

TEST_CASE("scalars: a reset gives the initial numbers back; copies and saved states take the numbers along") {
    const cli::Model model = opened(mixer());
    const std::vector<float> x = random_numbers(length * width, 3, 3);
    const Stream stream(model);
    stream.set("gain", 1.25f), stream.set("mix", 0.75f);
    (void)stream.rows(x.data(), 40, 40); // 8 ticks wait
    stream.set("gain", -0.5f);           // for the next block
    const std::vector<uint8_t> state = stream.saved();
    const Stream copied(model), loaded(model), other(model, 1);
    REQUIRE(lw_stream_copy(copied.stream, stream.stream) == LW_OK);
    for (const Stream *to : {&loaded, &other})
        REQUIRE(lw_stream_load(to->stream, state.data(), state.size()) == LW_OK);
    for (const Stream *to : {&copied, &loaded, &other}) {
        CHECK(to->get("gain") == -0.5f);
        CHECK(to->get("mix") == 0.75f);
    }
    const std::vector<float> y = stream.rows(x.data(), 48, 48);
    CHECK(same_bits(y, copied.rows(x.data(), 48, 48)));
    CHECK(same_bits(y, loaded.rows(x.data(), 48, 48)));
    // In blocks of one tick the gain jumps; afterwards it is the same.
    const std::vector<float> single = other.rows(x.data(), 48, 48);
    check_close({single.begin() + 16 * width, single.begin() + 48 * width},
                {y.begin() + 16 * width, y.end()});

    REQUIRE(lw_stream_reset(stream.stream) == LW_OK);
    CHECK(stream.get("gain") == 1);
    CHECK(same_bits(stream.rows(x.data(), length, 9), Stream(model).rows(x.data(), length, 9)));
}

TEST_CASE("scalars: what the model says of them, and values that it does not take") {
    const cli::Model model = opened(mixer());
    REQUIRE(model.info.scalars == 2);
    lw_scalar_info info = LW_SCALAR_INFO_INIT;
    REQUIRE(lw_model_scalar(model.handle.get(), 0, &info) == LW_OK); // by layer
    CHECK(std::string(info.name) == "gain");
    CHECK(std::string(info.unit) == "times");
    CHECK((info.initial == 1 && info.low == -2 && info.high == 2 && info.smoothed == 1));
    REQUIRE(lw_model_scalar(model.handle.get(), 1, &info) == LW_OK);
    CHECK(std::string(info.name) == "mix");
    CHECK((std::string(info.unit).empty() && info.initial == 0.25f && info.smoothed == 0));
    CHECK(lw_model_scalar(model.handle.get(), 2, &info) == LW_NOT_FOUND);
    CHECK(lw_model_scalar(nullptr, 0, &info) == LW_INVALID_ARGUMENT);
    CHECK(lw_model_scalar(model.handle.get(), 0, nullptr) == LW_INVALID_ARGUMENT);

    const Stream stream(model);
    const std::vector<uint8_t> before = stream.saved();
    for (const float wrong : {NAN, INFINITY, -INFINITY, 1.0000001f, -1e-30f, 3e38f})
        CHECK(lw_stream_set(stream.stream, "mix", wrong) == LW_INVALID_ARGUMENT);
    CHECK(std::strstr(lw_last_error(), "mix"));
    for (const char *wrong : {"", "mi", "mixx", "Mix", "gain "})
        CHECK(lw_stream_set(stream.stream, wrong, 0.5f) == LW_NOT_FOUND);
    CHECK(std::strstr(lw_last_error(), "gain, mix"));
    float value = 7;
    CHECK(lw_stream_get(stream.stream, "none", &value) == LW_NOT_FOUND);
    CHECK(value == 7);
    CHECK(lw_stream_get(stream.stream, "mix", nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_get(nullptr, "mix", &value) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_set(stream.stream, nullptr, 0) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_set(nullptr, "mix", 0) == LW_INVALID_ARGUMENT);
    CHECK(stream.saved() == before);
    for (const float right : {0.f, 1.f}) stream.set("mix", right); // both ends are in
    REQUIRE(lw_stream_finish(stream.stream) == LW_OK);
    stream.set("mix", 0.5f); // a finished stream still runs blocks
}

TEST_CASE("scalars: a saved state with a number out of range is refused") {
    const cli::Model model = opened(mixer());
    const Stream stream(model);
    stream.set("mix", 0.625f);
    const std::vector<uint8_t> good = stream.saved();
    const float marked = 0.625f;
    const auto *at = static_cast<const uint8_t *>(memmem(good.data(), good.size(), &marked, sizeof marked));
    REQUIRE(at);
    const auto with = [&](float value) {
        std::vector<uint8_t> bytes = good;
        memcpy(bytes.data() + (at - good.data()), &value, sizeof value);
        seal(bytes);
        return bytes;
    };
    for (const float wrong : {NAN, 1.5f, -0.5f, INFINITY}) {
        const std::vector<uint8_t> bytes = with(wrong);
        CHECK(lw_stream_load(stream.stream, bytes.data(), bytes.size()) == LW_BAD_STATE);
        CHECK(std::strstr(lw_last_error(), "outside the range"));
    }
    CHECK(stream.get("mix") == 0.625f);
    const std::vector<uint8_t> other = with(0.5f);
    REQUIRE(lw_stream_load(stream.stream, other.data(), other.size()) == LW_OK);
    CHECK(stream.get("mix") == 0.5f);
}

TEST_CASE("scalars: files without them stay in their format; the planner refuses what cannot be") {
    const auto minor_of = [](const std::vector<uint8_t> &bytes) {
        artifact::Header header;
        memcpy(&header, bytes.data(), sizeof header);
        return header.minor;
    };
    CHECK(minor_of(two_linear_layers("plain", "relu")) < 10);
    const auto refused = [&](const std::string &from, const std::string &to, const char *why,
                             uint32_t window = 0) {
        std::string json = model_json;
        const size_t place = json.find(from);
        REQUIRE(place != std::string::npos);
        json.replace(place, from.size(), to);
        compiler::Options options = options_here();
        options.stream = window ? compiler::StreamMode::if_possible : compiler::StreamMode::required;
        options.blocks = window ? std::vector<uint32_t>{} : std::vector<uint32_t>{16};
        options.window = window, options.hop = window / 4;
        const auto made = compiled(json,
                                   {{"minus", {{width}, std::vector<float>(width, -1)}},
                                    {"zero", {{width}, std::vector<float>(width, 0)}}},
                                   options);
        REQUIRE_FALSE(made);
        CHECK_MESSAGE(made.status().message().find(why) != std::string::npos, made.status().message());
    };
    refused("\"name\": \"gain\", \"unit\": \"times\"", "\"name\": \"mix\"",
            "scalar mix is also one of layer");
    refused("\"low\": 0.0", "\"low\": 0.5", "low <= initial <= high");
    refused("\"unit\": \"times\"", "\"unit\": \"\"", "attributes.unit");
    refused("\"name\": \"gain\", \"unit\"", "\"name\": \"a=b\", \"unit\"", "attribute name");
    refused("\"smoothed\": 0", "\"smoothed\": 2", "smoothed");
    refused("\"mixer\"", "\"mixer\"", "--window: a window computes its rows anew", 64);
}

} // namespace host_scalars_test
