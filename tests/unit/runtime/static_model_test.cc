// Models that a program contains: tables that are made beforehand give the bits of tables that are
// made at open, and memory is the caller's alone. Real code in a real program: tests/static.
#include "formats/artifact/hash.h"
#include "formats/artifact/static_form.h"
#include "formats/artifact/static_model.h"
#include "tests/support/broken.h"
#include "tests/support/named_state.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tests/support/tiny_gpu.h"
#include <cstring>
#include <doctest/doctest.h>
#include <sys/mman.h>

namespace static_model_test {

using namespace longwave;

namespace {

// The audio and family models square their taps (tiny_model.h).
std::vector<uint8_t> squared_taps() {
    std::vector<float> taps = {0.5f, -0.25f, 0.75f, 1.0f, 0.125f, -0.5f, 0.3f, 0.2f, 0.9f};
    taps.resize(16);
    for (float &tap : taps) tap *= tap;
    return test::as_bytes(taps);
}

std::vector<uint8_t> folded(const test::Draft &draft) {
    const auto made = artifact::with_derived_tables(draft.bytes(), squared_taps());
    REQUIRE_MESSAGE(made, made.status().message());
    return *made;
}

fb::PlanT plan_of(const std::vector<uint8_t> &bytes) {
    fb::PlanT plan;
    fb::GetPlan(bytes.data() + artifact::header_bytes)->UnPackTo(&plan);
    return plan;
}

// A model with its code in memory of the system, as a program has it.
class Contained {
public:
    explicit Contained(const std::vector<uint8_t> &file) {
        const fb::PlanT plan = plan_of(file);
        const fb::CodeVariantT &variant = *plan.variants[0];
        const fb::SegmentT &code = *plan.segments[variant.segment];
        const auto bare = artifact::without_code(file, variant.target, artifact::Digest{});
        REQUIRE_MESSAGE(bare, bare.status().message());
        const size_t front_bytes =
            sizeof(artifact::StaticModel) + (bare->size() + 63) / 64 * 64 + 4 * variant.entry.size();
        code_at_ = (front_bytes + 4095) / 4096 * 4096;
        size_ = code_at_ + code.size;
        memory_ = static_cast<uint8_t *>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        REQUIRE(memory_ != MAP_FAILED);
        artifact::StaticModel &front = *reinterpret_cast<artifact::StaticModel *>(memory_);
        std::memcpy(front.magic, artifact::static_magic, sizeof front.magic);
        front.layout = artifact::static_layout;
        front.machine = variant.machine;
        front.features = variant.features;
        front.functions = static_cast<uint32_t>(variant.entry.size());
        front.image = static_cast<int64_t>(code_at_ - offsetof(artifact::StaticModel, image));
        front.file = sizeof front;
        front.file_bytes = bare->size();
        front.entries = front_bytes - 4 * variant.entry.size();
        std::memcpy(memory_ + front.file, bare->data(), bare->size());
        std::memcpy(memory_ + front.entries, variant.entry.data(), 4 * variant.entry.size());
        std::memcpy(memory_ + code_at_, file.data() + code.offset, code.size);
        REQUIRE(mprotect(memory_, size_, PROT_READ | PROT_EXEC) == 0); // constants
    }
    ~Contained() { munmap(memory_, size_); }
    Contained(const Contained &) = delete;
    operator const lw_static_model *() const { return reinterpret_cast<const lw_static_model *>(memory_); }

private:
    uint8_t *memory_ = nullptr;
    size_t size_ = 0, code_at_ = 0;
};

struct alignas(64) Line {
    uint8_t bytes[64];
};

} // namespace

TEST_CASE("static form: tables among the weights keep every rule, give the same bits, and prepare is gone") {
    for (const test::Draft &draft : {test::audio_model(), test::begun_model(), test::family_model()}) {
        const std::vector<uint8_t> bytes = folded(draft);
        const auto broken = test::check(bytes);
        CHECK_MESSAGE(!broken, broken.text);
        const fb::PlanT plan = plan_of(bytes);
        CHECK(plan.derived_bytes == 0);
        // Their squares, and the taps where something else is beside them: the family reads one of them as
        // a number, and a sum begins with what lies behind them.
        const bool begins = plan.state[2]->initial.has_value();
        CHECK(plan.weights_bytes == (plan.name == "tiny-family" || begins ? 128 : 64));
        CHECK(begins == draft.plan.state[2]->initial.has_value());
        CHECK(plan.kernels.size() == draft.plan.kernels.size() - 1);
        for (const auto &entry : plan.entries) CHECK(entry->kind != fb::EntryKind::prepare);
        const test::Model before(draft), after(bytes);
        const std::vector<float> x = test::noise(64);
        CHECK(test::stream_in_cuts(after, x, {3, 5}) == test::stream_in_cuts(before, x, {3, 5}));
        CHECK(test::run(after, x) == test::run(before, x));
    }
}

TEST_CASE("static form: a golden vector follows its entry, and none is left without the code") {
    test::Draft draft = test::token_model();
    const auto made = artifact::with_derived_tables(draft.bytes(), {});
    REQUIRE_MESSAGE(made, made.status().message());
    CHECK(plan_of(*made).kernels.size() == draft.plan.kernels.size());
    draft = test::audio_model();
    draft.segments.push_back({fb::SegmentKind::golden, test::as_bytes(test::noise(8))});
    test::add_golden(draft, 1, 4, 0.5f);
    const std::vector<uint8_t> bytes = folded(draft);
    REQUIRE(plan_of(bytes).golden.size() == 1);
    CHECK(plan_of(bytes).golden[0]->entry == 0);
    const auto bare = artifact::without_code(bytes, plan_of(bytes).variants[0]->target, artifact::Digest{});
    REQUIRE_MESSAGE(bare, bare.status().message());
    const fb::PlanT plan = plan_of(*bare);
    CHECK((plan.golden.empty() && plan.report.empty() && plan.segments.size() == 1));
    CHECK((plan.variants.size() == 1 && plan.variants[0]->entry.empty() &&
           plan.variants[0]->image.size() == 32));
    CHECK(!artifact::without_code(bytes, "arm65", artifact::Digest{}));
}

TEST_CASE("static form: entries of a GPU and tables of another size are refused") {
    const auto gpu = artifact::with_derived_tables(test::gpu_model().bytes(), squared_taps());
    REQUIRE(!gpu);
    CHECK(gpu.status().message().find("cannot be part of a program") != std::string::npos);
    CHECK(!artifact::with_derived_tables(test::audio_model().bytes(), {}));
}

TEST_CASE("static model: rows, runs and states are those of the file, in the caller's memory") {
    const test::Draft draft = test::named_state(test::family_model(), 8, 8);
    const Contained contained(folded(draft));
    size_t size = 0, alignment = 0;
    REQUIRE(lw_model_static_size(contained, &size, &alignment) == LW_OK);
    std::vector<Line> memory(size / 64 + 512); // the rest serves streams and a runner
    lw_model *model = nullptr;
    REQUIRE(lw_model_open_static(contained, memory.data(), size, &model) == LW_OK);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    CHECK(info.memory_bytes == size);
    lw_model_close(model);
    const test::Model file(draft);
    const std::vector<float> x = test::noise(64);
    REQUIRE(lw_model_open_static(contained, memory.data(), size + info.run_memory_bytes, &model) == LW_OK);
    CHECK(test::run(model, x) == test::run(file, x)); // what info says of runs is enough
    lw_model_close(model);
    const lw_status status = lw_model_open_static(contained, memory.data(), memory.size() * 64, &model);
    REQUIRE_MESSAGE(status == LW_OK, lw_last_error());
    CHECK(test::run(model, x) == test::run(file, x));
    for (uint32_t entry = 0; entry < 3; ++entry) {
        const test::Stream ours(model, LW_F32, 0, entry), theirs(file, LW_F32, 0, entry);
        test::Rows a, b;
        test::push_all(ours, x, &a);
        test::push_all(theirs, x, &b);
        CHECK(a == b);
        const std::vector<uint8_t> state = test::save(theirs);
        CHECK(test::save(ours) == state);
        CHECK(lw_stream_load(ours, state.data(), state.size()) == LW_OK);
    }
    lw_model_close(model);
}

TEST_CASE("static model: closed with a live stream, its memory serves that stream until it ends") {
    const test::Draft draft = test::named_state(test::family_model(), 8, 8);
    const Contained contained(folded(draft));
    size_t size = 0, alignment = 0;
    REQUIRE(lw_model_static_size(contained, &size, &alignment) == LW_OK);
    std::vector<Line> memory(size / 64 + 512);
    lw_model *model = nullptr;
    const std::vector<float> x = test::noise(64);
    test::Rows before;
    for (int again = 0; again < 3; ++again) { // all of the memory is free afterwards
        REQUIRE(lw_model_open_static(contained, memory.data(), memory.size() * 64, &model) == LW_OK);
        lw_stream *stream = nullptr;
        REQUIRE(lw_stream_create(model, &test::f32_stream, &stream) == LW_OK);
        lw_model_close(model);
        test::Rows rows;
        test::push_all(stream, x, &rows);
        test::pull_all(stream, &rows);
        CHECK(!rows.empty());
        if (again > 0) CHECK(rows == before);
        before = rows;
        lw_stream_destroy(stream);
    }
}

TEST_CASE("static model: exactly the stated memory is enough, and everything else is one clear status") {
    const Contained contained(folded(test::audio_model()));
    size_t size = 0, alignment = 0;
    REQUIRE(lw_model_static_size(contained, &size, &alignment) == LW_OK);
    CHECK(alignment == 64);
    std::vector<Line> memory(size / 64 + 1);
    lw_model *model = nullptr;
    CHECK(lw_model_open_static(contained, memory.data(), size - 1, &model) == LW_TOO_SMALL);
    CHECK(std::string(lw_last_error()) ==
          "the model needs " + std::to_string(size) + " bytes, given " + std::to_string(size - 1));
    CHECK(lw_model_open_static(contained, memory[0].bytes + 32, size, &model) == LW_INVALID_ARGUMENT);
    CHECK(model == nullptr);
    REQUIRE(lw_model_open_static(contained, memory.data(), size, &model) == LW_OK);
    lw_stream *stream = nullptr;
    CHECK(lw_stream_create(model, &test::f32_stream, &stream) == LW_NO_MEMORY);
    lw_model_close(model);
    CHECK(lw_model_open_static(reinterpret_cast<const lw_static_model *>(memory.data()), memory.data(), size,
                               &model) == LW_BAD_ARTIFACT);
}

} // namespace static_model_test
