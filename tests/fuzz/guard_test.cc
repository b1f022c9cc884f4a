// Mutants of sound plans, hashes renewed, that the verifier lets through: they run between guard
// pages, and touch nothing they may not.
#include "formats/artifact/geometry.h"
#include "formats/artifact/verify.h"
#include "tests/fuzz/guarded.h"
#include "tests/fuzz/known_code.h"
#include "tests/fuzz/plan_mutator.h"
#include "tests/fuzz/reach.h"
#include "tests/support/broken.h"
#include "tests/support/tiny_gpu.h"
#include "tests/support/tiny_model.h"
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>

namespace guard_test {

using namespace longwave;

namespace {

struct Counts {
    uint64_t tried = 0, sound = 0, ran = 0, calls = 0;
};

// A stream whose kernel believes its scalar: it averages so many rows of a ring, 4, 8, 12 or 16,
// one after another.
test::Draft scalar_model() {
    using test::at, test::arg;
    test::Draft draft = test::empty_draft("scalar");
    test::add_input(draft, "x", fb::InputKind::features);
    test::add_field(draft, "input", "x", fb::StateKind::history, {16, 1});
    test::add_kernel(draft, test::mean, "mean",
                     {arg(fb::ArgKind::input, fb::Elem::f32, {{1, 1}, {16, 1}}), test::scalar_arg(16, 4),
                      arg(fb::ArgKind::output, fb::Elem::f32, {{1, 1}})});
    auto stream = std::make_unique<fb::EntryT>();
    stream->kind = fb::EntryKind::stream;
    stream->block = 4;
    stream->arena_bytes = 64;
    stream->inputs.push_back(test::input_port(test::place(fb::Space::state, 0, 4, 16), 4, 4));
    stream->steps.push_back(test::call(
        "mean", 0, test::bindings(at(fb::Space::state, 0), test::slot(4, 4, 4), at(fb::Space::arena, 0))));
    stream->outputs.push_back(test::output_port("y", test::place(fb::Space::arena, 0), 1, 1, 1, 4));
    draft.plan.entries.push_back(std::move(stream));
    return draft;
}

// A sound file, held as the verifier wants it.
struct Verified {
    explicit Verified(const std::vector<uint8_t> &bytes) {
        REQUIRE(posix_memalign(&memory, 64, bytes.size()) == 0);
        memcpy(memory, bytes.data(), bytes.size());
        artifact::Request request;
        request.file = static_cast<const uint8_t *>(memory);
        request.size = bytes.size();
        broken = artifact::verify(request, &view);
    }
    ~Verified() { free(memory); }
    Verified(const Verified &) = delete;
    void *memory = nullptr;
    artifact::View view;
    artifact::Broken broken;
};

void run(const std::vector<uint8_t> &bytes, const fuzz::KnownCode &known, uint32_t seed, Counts &counts) {
    const Verified file(bytes);
    ++counts.tried;
    if (file.broken) return;
    ++counts.sound;
    const char *outside = fuzz::reaches_outside(file.view);
    CHECK_MESSAGE(!outside, "seed ", seed, ": ", std::string(outside ? outside : ""),
                  " reaches outside its space");
    if (outside || !known.may_run(file.view)) return;
    for (const bool at_front : {false, true}) {
        const fuzz::Guarded guarded = fuzz::run_guarded(file.view, at_front);
        CHECK_MESSAGE(guarded.fault.empty(), "seed ", seed, ": ", guarded.fault);
        counts.ran += guarded.ran;
        counts.calls += guarded.calls;
    }
}

void try_mutants(const std::vector<uint8_t> &bytes, const fuzz::KnownCode &known, uint32_t mutants,
                 const std::string &name) {
    Counts counts;
    run(bytes, known, 0, counts);
    CHECK_MESSAGE(counts.ran == 2, name, " itself runs");
    for (uint32_t seed = 1; seed <= mutants; ++seed) {
        std::vector<uint8_t> mutant = fuzz::mutated_plan(bytes, seed);
        if (seed % 4 == 0 && !mutant.empty()) mutant = fuzz::mutated_plan(mutant, ~seed); // twice as far
        if (!mutant.empty()) run(mutant, known, seed, counts);
    }
    MESSAGE(name, ": ", counts.tried, " tried, ", counts.sound, " sound, ", counts.ran / 2, " ran, ",
            counts.calls, " calls");
    CHECK(counts.ran > mutants / 50); // else nothing was tried
}

} // namespace

TEST_CASE("guard: a scalar that a kernel believes is never beyond what the kernel reads") {
    const test::Draft draft = scalar_model();
    fuzz::KnownCode known;
    known.learn(draft.bytes());
    try_mutants(draft.bytes(), known, 3000, "scalar");
    Counts counts;
    for (const int32_t value : {-4096, -4, -1, 0, 1, 3, 4, 5, 8, 1024, 1 << 20, INT32_MAX})
        for (const int32_t mul : {-1024, -4, 0, 1, 4, 5, 4096, INT32_MAX})
            for (const uint32_t modulus : {1u, 2u, 4u, 5u, 1u << 20, UINT32_MAX}) {
                test::Draft changed = draft;
                changed.plan.entries[0]->steps[0]->args[1] = test::slot(modulus, mul, value);
                run(changed.bytes(), known, 0, counts);
            }
    // 0, 4 and 8, alone (a factor of 0, or one slot), and in steps of 4 up or down as far as 0 … 16
    // goes
    CHECK(counts.sound == 3 * 6 + 3 * 7 + (3 + 2 + 1) + 2);
}

TEST_CASE("guard: mutants of the tiny models that pass the rules touch nothing outside their spaces") {
    const std::pair<const char *, test::Draft> models[] = {
        {"audio", test::audio_model()},
        {"mixed", test::mixed_model()},
        {"family", test::family_model()},
        {"spotter", test::spotter_model()},
        {"timing", test::timing_model({.block = 2, .period = 3, .phase = 1})}};
    for (const auto &[name, draft] : models) try_mutants(draft.bytes(), fuzz::test_kernels(), 3000, name);
}

// Compiled code: LONGWAVE_GUARD_ARTIFACT names an artifact without token inputs,
// LONGWAVE_GUARD_MUTANTS how many to try.
static std::vector<uint8_t> compiled_artifact() {
    const char *path = getenv("LONGWAVE_GUARD_ARTIFACT");
    if (!path) return {};
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> read{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::vector<uint8_t> bytes(read.begin(), read.end());
    REQUIRE_MESSAGE(!Verified(bytes).broken, path);
    return bytes;
}

TEST_CASE("guard: mutants of a compiled artifact that pass the rules touch nothing outside their spaces") {
    const std::vector<uint8_t> bytes = compiled_artifact();
    if (bytes.empty()) return;
    const char *mutants = getenv("LONGWAVE_GUARD_MUTANTS");
    fuzz::KnownCode known;
    known.learn(bytes);
    try_mutants(bytes, known, mutants ? static_cast<uint32_t>(atoi(mutants)) : 1000, "compiled artifact");
}

TEST_CASE("guard: a compiled artifact that gives its kernels less scratch than they need is refused") {
    const std::vector<uint8_t> bytes = compiled_artifact();
    if (bytes.empty()) return;
    uint32_t changed = 0;
    const std::vector<uint8_t> starved = test::rewrite(bytes, [&](fb::PlanT &plan) {
        for (auto &variant : plan.variants)
            for (uint64_t &scratch : variant->scratch)
                if (scratch > 64) scratch = 64, ++changed;
    });
    CHECK(changed > 0);
    CHECK(Verified(starved).broken.rule == 11);
    const auto least = [&](uint64_t less) { // by as little as can be said
        return test::rewrite(bytes, [&](fb::PlanT &plan) {
            for (uint64_t &scratch : plan.variants[0]->scratch)
                if (scratch > 0) return void(scratch -= less);
        });
    };
    CHECK(Verified(least(0)).broken.rule == 0);
    CHECK(Verified(least(1)).broken.rule == 11);
}

TEST_CASE("guard: no scalar leads a compiled kernel outside its argument, whatever it is changed to") {
    const std::vector<uint8_t> bytes = compiled_artifact();
    if (bytes.empty()) return;
    fuzz::KnownCode known;
    known.learn(bytes);
    Counts counts;
    const Verified file(bytes);
    const auto &entries = *file.view.plan().entries();
    for (uint32_t e = 0; e < entries.size(); ++e)
        for (uint32_t s = 0; s < entries.Get(e)->steps()->size(); ++s)
            for (uint32_t a = 0; a < artifact::count(entries.Get(e)->steps()->Get(s)->args()); ++a) {
                const fb::Scalar *scalar = entries.Get(e)->steps()->Get(s)->args()->Get(a)->scalar();
                if (!scalar) continue;
                const int32_t value = scalar->value();
                for (const int32_t other : {value - 80, value - 1, value + 1, value + 80, -1, 1 << 24})
                    run(test::rewrite(bytes,
                                      [&](fb::PlanT &plan) {
                                          auto &changed = *plan.entries[e]->steps[s]->args[a]->scalar;
                                          changed = fb::Scalar(changed.kind(), other, changed.mul(),
                                                               changed.tile_mul(), changed.modulus(),
                                                               changed.add());
                                      }),
                        known, 0, counts);
            }
    MESSAGE(counts.tried, " tried, ", counts.sound, " sound, ", counts.ran / 2, " ran");
    CHECK(counts.tried >= 6);
    CHECK(counts.sound < counts.tried / 2);
}

} // namespace guard_test
