// Linear attention against its definition in float64: outputs and state, steps and chunks of any
// length on the same memory.
#include "tests/kernels/lines.h"
#include <algorithm>
#include <random>

namespace attention_test {

using namespace longwave::test;

namespace {

struct Shape {
    int heads, dk, dv;
    std::vector<int> rows; // lengths of the calls that are mixed; 1 is the step
};

std::string attention_spec(const Shape &shape, int rows) {
    const std::string params = fmt::format(R"("heads":{},"dk":{},"dv":{})", shape.heads, shape.dk, shape.dv);
    if (rows == 1) return spec("linear_attention_step", params);
    return spec("linear_attention_chunk", params + fmt::format(R"(,"rows":{})", rows));
}

enum class Keys { random, constant };

// Everything of one sequence: inputs, what the kernels made, and the float64 recurrence beside it.
class Sequence {
public:
    Sequence(const Shape &shape, int length, Keys keys)
        : shape_(shape), length_(length), q_(shape.heads * shape.dk, length),
          k_(shape.heads * shape.dk, length), v_(shape.heads * shape.dv, length),
          o_(shape.heads * shape.dv, length) {
        std::mt19937 random(static_cast<uint32_t>(length));
        std::normal_distribution<float> normal;
        for (int t = 0; t < length; t++) {
            for (int lane = 0; lane < q_.width; lane++) {
                q_.at(t, lane) = keys == Keys::random ? normal(random) : 0.9f;
                k_.at(t, lane) = keys == Keys::random ? normal(random) : 0.7f;
            }
            for (int lane = 0; lane < v_.width; lane++)
                v_.at(t, lane) = keys == Keys::random ? normal(random) : 0.3f;
            for (int lane = 0; lane < o_.lanes(); lane++) o_.at(t, lane) = NAN;
        }
    }

    // Calls of lengths drawn from `shape.rows` until the end, whose last rows are steps.
    void run(std::vector<Kernel> &kernels) {
        const longwave::schedules::KernelArg &state = kernels[0]["S_high"].arg();
        size_t elements = 1;
        for (const auto &dim : state.dims) elements *= dim.extent;
        high_.assign(elements + 1, 0.0f), low_.assign(elements + 1, 0.0f);
        std::mt19937 random(5);
        for (int t = 0; t < length_;) {
            size_t choice = random() % kernels.size();
            if (t + shape_.rows[choice] > length_) choice = 0;
            kernels[choice].prepare({{"q", q_.place(t)},
                                     {"k", k_.place(t)},
                                     {"v", v_.place(t)},
                                     {"o", o_.place(t)},
                                     {"S_high", reinterpret_cast<uint8_t *>(&high_[1])},
                                     {"S_low", reinterpret_cast<uint8_t *>(&low_[1])}});
            REQUIRE(kernels[choice].call_prepared() == 0);
            t += shape_.rows[choice];
        }
        tile_ = static_cast<int>(state.dims[0].extent);
    }

    // Relative L2 errors of o and of the state at the end.
    std::pair<double, double> errors() {
        std::vector<double> state(static_cast<size_t>(shape_.heads) * shape_.dk * shape_.dv);
        double difference = 0, size = 0;
        for (int t = 0; t < length_; t++) {
            for (int lane = 0; lane < o_.width; lane++) {
                const int head = lane / shape_.dv;
                double *column = &state[static_cast<size_t>(lane) * shape_.dk], sum = 0;
                for (int i = 0; i < shape_.dk; i++) {
                    column[i] += static_cast<double>(k_.at(t, head * shape_.dk + i)) * v_.at(t, lane);
                    sum += q_.at(t, head * shape_.dk + i) * column[i];
                }
                difference += std::pow(o_.at(t, lane) - sum, 2), size += sum * sum;
            }
            for (int lane = o_.width; lane < o_.lanes(); lane++)
                if (o_.at(t, lane) != 0) FAIL("row ", t, ": lane ", lane, " is none");
        }
        double state_difference = 0, state_size = 0;
        for (int lane = 0; lane < o_.lanes(); lane++)
            for (int i = 0; i < shape_.dk; i++) {
                // [tile lanes, dk, tiles]
                const size_t at =
                    1 + static_cast<size_t>(lane % tile_ + tile_ * (i + shape_.dk * (lane / tile_)));
                const double value = static_cast<double>(high_[at]) + low_[at];
                const double expected =
                    lane < o_.width ? state[static_cast<size_t>(lane) * shape_.dk + i] : 0;
                if (lane >= o_.width && value != 0) FAIL("state of lane ", lane, ", which is none");
                state_difference += std::pow(value - expected, 2), state_size += expected * expected;
            }
        return {std::sqrt(difference / size), std::sqrt(state_difference / state_size)};
    }

private:
    const Shape shape_;
    int length_, tile_ = 0;
    Lines q_, k_, v_, o_;
    std::vector<float> high_, low_;
};

// In the state each product k·v is rounded once and sums within a chunk log2(64) times, all else is
// kept in two floats: 7e-7 at most, whatever the length. o adds the rounding of sums of dk products
// of either sign.
constexpr double tolerance = 1e-6;

void check(const std::vector<Shape> &shapes, int length) {
    for (const longwave::targets::Target &target : longwave::targets::all()) {
        if (target.by_name || !host_runs(target)) continue;
        for (const Shape &shape : shapes) {
            std::vector<std::string> specs;
            for (int rows : shape.rows) specs.push_back(attention_spec(shape, rows));
            auto kernels = load_kernels(specs, target, find_kgen());
            REQUIRE_MESSAGE(kernels, kernels.status().message());
            for (const Keys keys : {Keys::random, Keys::constant}) {
                Sequence sequence(shape, length, keys);
                sequence.run(*kernels);
                const auto [o, state] = sequence.errors();
                const std::string which = keys == Keys::random ? "random" : "constant";
                INFO(target.name, " ", specs[0], " ", which, " keys: o ", o, ", state ", state);
                CHECK(o <= tolerance);
                CHECK(state <= tolerance);
            }
        }
    }
}

} // namespace

TEST_CASE("linear_attention: steps and chunks in any order on one state are the causal sum") {
    check({{1, 16, 16, {1, 16}},
           {2, 32, 64, {1, 16, 64}},
           {2, 24, 128, {1, 8}},
           {2, 64, 96, {1, 33}},
           {1, 64, 40, {1, 13}},
           {2, 20, 80, {1, 48}},
           {4, 40, 40, {1, 16}},
           {2, 5, 8, {1, 7}}},
          700);
}

TEST_CASE("linear_attention: heads narrower than a vector, and widths of 1") {
    check({{3, 5, 7, {1, 2, 16}},
           {1, 5, 1, {1, 7}},
           {1, 1, 1, {1, 16}},
           {4, 8, 4, {1, 16}},
           {17, 3, 1, {1, 5}},
           {16, 4, 1, {1, 16}}},
          500);
}

TEST_CASE("linear_attention: after 100,000 rows state and outputs are as exact as after a thousand") {
    check({{1, 16, 16, {1, 16}}, {1, 3, 1, {1, 64}}}, 100000);
}

} // namespace attention_test
