// Random shapes of kernels, drawn again in the same order for the same seed.
//     LONGWAVE_SEED    the seed: a number, or "random" for a new one; without it 1
//     LONGWAVE_SHAPES  how many shapes each random test draws; without it 2
#pragma once
#include "tests/kernels/check.h"
#include <cstdlib>
#include <random>

namespace longwave::test {

struct Activation {
    const char *epilogue;
    double functions; // for limit()
    double (*value)(double);
};

inline constexpr Activation activations[] = {
    {"", 0, [](double x) { return x; }},
    {R"({"op":"relu"})", 0, [](double x) { return std::max(x, 0.0); }},
    {R"({"op":"sigmoid"})", 1, logistic},
    {R"({"op":"softplus"})", 2, softplus},
    {R"({"op":"silu"})", 1, [](double x) { return x * logistic(x); }},
    // x f'(x) / f(x) is 3.7 at -2: an error of x counts that often.
    {R"({"op":"gelu"})", 3, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
};

class Random {
public:
    // One sequence of shapes per kernel: a new test leaves the shapes of the others alone.
    explicit Random(const std::string &kernel)
        : seed_(chosen_seed()), engine_(seed_ + std::hash<std::string>()(kernel)) {
        MESSAGE(kernel, ": LONGWAVE_SEED=", seed_);
    }

    // Calls `draw` once per shape and runs the cases.
    template <class Draw> void run(const Draw &draw) {
        const char *text = std::getenv("LONGWAVE_SHAPES");
        const int shapes = text ? std::atoi(text) : 2;
        REQUIRE(shapes > 0);
        std::vector<Case> cases;
        for (int i = 0; i < shapes; i++) cases.push_back(draw(*this));
        run_everywhere(cases);
    }

    int between(int low, int high) {
        return low + static_cast<int>(engine_() % static_cast<uint64_t>(high - low + 1));
    }
    // A size from 1 to `high`, small sizes as often as large ones.
    int size(int high) {
        const double exponent = between(0, 1000) / 1000.0;
        return static_cast<int>(std::pow(high, exponent));
    }
    // Rows of a sum: at least 8. Errors are relative to the peak, and the peak of one value may be
    // near zero.
    int rows(int high) { return std::max(8, size(high)); }
    bool flip() { return between(0, 1) == 1; }
    template <class T> T one_of(std::initializer_list<T> list) {
        return list.begin()[between(0, static_cast<int>(list.size()) - 1)];
    }
    const Activation &activation() { return activations[between(0, std::size(activations) - 1)]; }

private:
    static uint64_t chosen_seed() {
        const char *text = std::getenv("LONGWAVE_SEED");
        if (!text) return 1;
        static const uint64_t fresh = std::random_device()();
        return std::string(text) == "random" ? fresh : std::strtoull(text, nullptr, 10);
    }

    uint64_t seed_;
    std::mt19937_64 engine_;
};

} // namespace longwave::test
