// Opening: what is refused and how it is told, who is trusted; verification.
#include "formats/artifact/features.h"
#include "formats/artifact/header.h"
#include "longwave/longwave.h"
#include "runtime/platform/cpu.h"
#include "tests/support/broken.h"
#include "tests/support/session.h"
#include <cstring>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace open_test {

using namespace longwave;
using namespace longwave::test;

namespace {

lw_open_options trusting() {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    return options;
}

lw_status open(const std::vector<uint8_t> &bytes, const lw_open_options *options, lw_model **out) {
    *out = reinterpret_cast<lw_model *>(1);
    const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), options, out);
    CHECK((*out == nullptr) == (status != LW_OK));
    return status;
}

lw_status open(const std::vector<uint8_t> &bytes, lw_open_options options = trusting()) {
    lw_model *model = nullptr;
    const lw_status status = open(bytes, &options, &model);
    lw_model_close(model);
    return status;
}

struct File {
    explicit File(const std::vector<uint8_t> &bytes) {
        char name[] = "/tmp/longwave-open-XXXXXX";
        const int file = mkstemp(name);
        path = name;
        REQUIRE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
        close(file);
    }
    ~File() { unlink(path.c_str()); }
    std::string path;
};

bool detail(const char *text) { return std::string(lw_last_error()).find(text) != std::string::npos; }

} // namespace

TEST_CASE("open: a file, and the same bytes in memory") {
    const std::vector<uint8_t> bytes = audio_model().bytes();
    const File file(bytes);
    for (int map : {0, 1}) {
        lw_open_options options = trusting();
        options.map_weights = map;
        lw_model *model = nullptr;
        REQUIRE(lw_model_open(file.path.c_str(), &options, &model) == LW_OK);
        const std::vector<float> x = noise(40);
        CHECK(run(model, x) == run(Model(bytes), x));
        CHECK(stream_in_cuts(model, x, {5}) == stream_in_cuts(Model(bytes), x, {40}));
        lw_model_close(model);
    }
    lw_model_close(nullptr);
}

TEST_CASE("open: what is no artifact, no file or no argument has a status and a detail each") {
    lw_model *model = nullptr;
    const lw_open_options options = trusting();
    CHECK(lw_model_open("/nowhere/at/all.lw", &options, &model) == LW_NOT_FOUND);
    CHECK(detail("/nowhere/at/all.lw"));
    CHECK(lw_model_open("/tmp", &options, &model) == LW_IO);
    CHECK(lw_model_open("/dev/null", &options, &model) == LW_IO);
    CHECK(lw_model_open(nullptr, &options, &model) == LW_INVALID_ARGUMENT);
    CHECK(lw_model_open("/tmp", &options, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_model_open_memory(nullptr, 5, &options, &model) == LW_INVALID_ARGUMENT);
    CHECK(lw_model_open_memory("", 0, &options, &model) == LW_BAD_ARTIFACT);
    CHECK(detail("V1"));
    const File empty({}), text({'h', 'e', 'l', 'l', 'o'});
    CHECK(lw_model_open(empty.path.c_str(), &options, &model) == LW_BAD_ARTIFACT);
    CHECK(lw_model_open(text.path.c_str(), &options, &model) == LW_BAD_ARTIFACT);
    CHECK(model == nullptr);
    lw_open_options wrong = options;
    wrong.struct_size = 0;
    CHECK(open(audio_model().bytes(), wrong) == LW_INVALID_ARGUMENT);
    lw_allocator allocator{};
    wrong = options;
    wrong.allocator = &allocator;
    CHECK(open(audio_model().bytes(), wrong) == LW_INVALID_ARGUMENT);
}

TEST_CASE("open: a named pipe is refused at once, whether or not someone writes to it") {
    const std::string path = "/tmp/longwave-open-pipe-" + std::to_string(getpid());
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    const lw_open_options options = trusting();
    lw_model *model = nullptr;
    CHECK(lw_model_open(path.c_str(), &options, &model) == LW_IO);
    const int writer = ::open(path.c_str(), O_RDWR);
    CHECK(lw_model_open(path.c_str(), &options, &model) == LW_IO);
    close(writer);
    unlink(path.c_str());
}

TEST_CASE("open: a broken rule is named with its numbers") {
    const std::vector<uint8_t> good = audio_model().bytes();
    CHECK(open(patch(good, good.size() - 1, {1})) == LW_BAD_ARTIFACT);
    CHECK(detail("rule V19"));
    CHECK(detail("1, "));
    CHECK(open(patch(good, 10, {artifact::format_minor + 1, 0})) == LW_BAD_VERSION);
    CHECK(open(patch(good, 8, {3, 0})) == LW_BAD_VERSION);
    CHECK(open(patch(good, 0, {'x'})) == LW_BAD_ARTIFACT);
    Draft draft = audio_model();
    draft.plan.entries[1]->steps[0]->kernel = 9;
    CHECK(open(draft.bytes()) == LW_BAD_ARTIFACT);
    CHECK(detail("rule V13"));
}

TEST_CASE("open: any truncation and any flipped bit of a small artifact gives a status") {
    const std::vector<uint8_t> good = token_model().bytes();
    for (size_t n = 1; n < good.size(); ++n)
        CHECK(open({good.begin(), good.begin() + static_cast<long>(n)}) == LW_BAD_ARTIFACT);
    std::vector<uint8_t> bad = good;
    for (size_t bit = 0; bit < good.size() * 8; bit += 3) {
        bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        const lw_status status = open(bad);
        CHECK((status == LW_BAD_ARTIFACT || status == LW_BAD_VERSION ||
               status == LW_NO_VARIANT)); // the last: features nobody knows
        bad[bit / 8] = good[bit / 8];
    }
}

TEST_CASE("open: unsigned code needs the caller's word") {
    const std::vector<uint8_t> bytes = audio_model().bytes();
    lw_model *model = nullptr;
    CHECK(open(bytes, nullptr, &model) == LW_UNSIGNED_CODE);
    lw_open_options options = trusting();
    options.allow_unsigned_code = 0;
    CHECK(open(bytes, options) == LW_UNSIGNED_CODE);
    CHECK(detail("tiny-audio"));
    // Data checks come first in every case.
    CHECK(open(patch(bytes, bytes.size() - 1, {1}), options) == LW_BAD_ARTIFACT);
}

TEST_CASE("open: a signature counts when the caller's check says so") {
    std::vector<uint8_t> bytes = audio_model().bytes();
    const uint8_t key[32] = {42};
    REQUIRE(
        artifact::sign(bytes, key, [](std::span<const uint8_t, 32> root, std::span<uint8_t, 64> signature) {
            // Not Ed25519: what matters here is who is asked, and what.
            memcpy(signature.data(), root.data(), 32);
            return true;
        }));
    struct Asked {
        int times = 0, answer = 1;
        uint8_t key[32];
        bool matches = false;
    } asked;
    lw_open_options options = trusting();
    options.allow_unsigned_code = 0;
    CHECK(open(bytes, options) == LW_UNSIGNED_CODE); // nobody to check it
    options.signature_context = &asked;
    options.check_compares_key = 1;
    options.check_signature = [](void *context, const uint8_t *k, const uint8_t *root,
                                 const uint8_t *signature) {
        Asked &a = *static_cast<Asked *>(context);
        ++a.times;
        memcpy(a.key, k, 32);
        a.matches = memcmp(root, signature, 32) == 0;
        return a.answer;
    };
    CHECK(open(bytes, options) == LW_OK);
    CHECK(asked.times == 1);
    CHECK(asked.matches);
    CHECK(asked.key[0] == 42);
    asked.answer = 0;
    CHECK(open(bytes, options) == LW_UNSIGNED_CODE);
    CHECK(open(audio_model().bytes(), options) == LW_UNSIGNED_CODE); // unsigned: not asked
    CHECK(asked.times == 2);
    CHECK(open(patch(bytes, 300, {static_cast<uint8_t>(bytes[300] ^ 1)}, false), options) == LW_BAD_ARTIFACT);
}

TEST_CASE("open: the best variant this CPU runs, or the one asked for") {
    Draft draft = audio_model();
    auto better = std::make_unique<fb::CodeVariantT>(*draft.plan.variants[0]);
    better->target = "better";
    better->features = platform::host().features & artifact::feature_sse41;
    auto alien = std::make_unique<fb::CodeVariantT>(*draft.plan.variants[0]);
    alien->target = "alien";
    alien->machine = 243;
    draft.plan.variants.push_back(std::move(better));
    draft.plan.variants.push_back(std::move(alien));
    const std::vector<uint8_t> bytes = draft.bytes();
    auto chosen = [&](const char *wanted) {
        lw_open_options options = trusting();
        options.variant = wanted;
        lw_model *model = nullptr;
        lw_model_info info{};
        info.struct_size = sizeof info;
        if (open(bytes, &options, &model) == LW_OK) REQUIRE(lw_model_get_info(model, &info) == LW_OK);
        const std::string name = info.variant ? info.variant : "";
        lw_model_close(model);
        return name;
    };
    if (platform::host().features & artifact::feature_sse41) CHECK(chosen(nullptr) == "better");
    CHECK(chosen(draft.plan.variants[0]->target.c_str()) == draft.plan.variants[0]->target);
    CHECK(chosen("alien") == "");
    CHECK(detail("alien"));
    CHECK(chosen("no-such") == "");
    lw_open_options options = trusting();
    options.variant = "alien";
    CHECK(open(bytes, options) == LW_NO_VARIANT);
    draft.plan.variants.erase(draft.plan.variants.begin(), draft.plan.variants.begin() + 2);
    CHECK(open(draft.bytes()) == LW_NO_VARIANT);
    CHECK(detail("alien"));
}

TEST_CASE("open: the memory limit covers the model and one stream") {
    const std::vector<uint8_t> bytes = audio_model().bytes();
    const Model model(bytes);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    lw_open_options options = trusting();
    options.memory_limit = bytes.size() + info.derived_bytes + info.stream_memory_bytes + 65536;
    CHECK(open(bytes, options) == LW_OK);
    options.memory_limit = bytes.size();
    CHECK(open(bytes, options) == LW_NO_MEMORY);
    CHECK(detail("V20"));
    // The tables are missing in this.
    options.memory_limit = bytes.size() + info.derived_bytes + info.stream_memory_bytes;
    CHECK(open(bytes, options) == LW_NO_MEMORY);
}

TEST_CASE("open: scratch of prepare counts against the memory limit before it is taken") {
    Draft draft = audio_model();
    draft.plan.variants[0]->scratch[0] = uint64_t{1} << 40; // of the only kernel that prepare calls
    lw_open_options options = trusting();
    options.memory_limit = 1 << 20;
    CHECK(open(draft.bytes(), options) == LW_NO_MEMORY);
    CHECK(detail("V20"));
}

// An input of 5 rows that repeats, and rows 0-2 and 17-23 of the output.
TEST_CASE("verify: of a long golden vector the stored rows are compared, in runs and streams") {
    std::vector<float> x(24);
    const std::vector<float> period = noise(5);
    for (size_t t = 0; t < x.size(); ++t) x[t] = period[t % 5];
    const Rows rows = stream_in_cuts(Model(audio_model()), x, {24});
    const auto with_golden = [&](uint16_t entry, size_t wrong) {
        Draft draft = audio_model();
        std::vector<float> values = period, y = rows.at(0);
        y[wrong] += 0.25f;
        values.insert(values.end(), y.begin(), y.begin() + 3);
        values.insert(values.end(), y.begin() + 17, y.end());
        draft.segments.push_back({fb::SegmentKind::golden, as_bytes(values)});
        add_golden(draft, entry, 24, 1e-5f);
        fb::GoldenT &golden = *draft.plan.golden[0];
        golden.outputs.push_back(std::make_unique<fb::GoldenTensorT>(*golden.outputs[0]));
        golden.inputs[0]->stored = 5;
        golden.outputs[0]->offset = 5 * sizeof(float), golden.outputs[0]->stored = 3;
        golden.outputs[1]->offset = 8 * sizeof(float), golden.outputs[1]->stored = 7,
        golden.outputs[1]->first = 17;
        return draft;
    };
    for (uint16_t entry : {uint16_t{1}, uint16_t{2}}) {
        double worst = -1;
        CHECK(lw_model_verify(Model(with_golden(entry, 10)), &worst) == LW_OK); // not stored
        CHECK(worst == 0);
        for (const size_t wrong : {0, 2, 17, 23})
            CHECK(lw_model_verify(Model(with_golden(entry, wrong)), &worst) == LW_CHECK_FAILED);
    }
}

TEST_CASE("verify: golden vectors pass, and a wrong one is a failed check with its figure") {
    auto with_golden = [](float last, uint16_t entry, float limit) {
        Draft draft = audio_model();
        std::vector<float> x = noise(24), values = x;
        const Rows rows = stream_in_cuts(Model(audio_model()), x, {24});
        values.insert(values.end(), rows.at(0).begin(), rows.at(0).end());
        values.back() += last;
        draft.segments.push_back({fb::SegmentKind::golden, as_bytes(values)});
        add_golden(draft, entry, 24, limit);
        return draft;
    };
    double worst = -1;
    for (uint16_t entry : {uint16_t{1}, uint16_t{2}}) {
        CHECK(lw_model_verify(Model(with_golden(0, entry, 1e-5f)), &worst) == LW_OK);
        CHECK(worst == 0);
        CHECK(lw_model_verify(Model(with_golden(1e-3f, entry, 0.5f)), &worst) == LW_OK);
        CHECK(worst > 0);
        CHECK(worst < 1);
        CHECK(lw_model_verify(Model(with_golden(0.25f, entry, 1e-5f)), &worst) == LW_CHECK_FAILED);
        CHECK(worst > 100);
        CHECK(detail("output y"));
    }
    CHECK(lw_model_verify(Model(audio_model()), nullptr) == LW_OK);
    CHECK(lw_model_verify(nullptr, nullptr) == LW_INVALID_ARGUMENT);
}

} // namespace open_test
