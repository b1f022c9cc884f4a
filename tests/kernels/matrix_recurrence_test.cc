// The kernels of matrix_recurrence against their definition in float64: every decay, with and without the
// rank-one term, heads that share keys, steps and chunks of any length on the same memory.
#include "tests/kernels/lines.h"
#include <algorithm>
#include <random>

namespace matrix_recurrence_test {

using namespace longwave::test;

namespace {

struct Shape {
    int heads, key_heads, dk, dv;
    std::vector<int> rows; // lengths of the calls that are mixed; the first is 1, the step
};

// What decays are: those of trained gates, or shut and open ones, exactly 0 and 1.
enum class Gates { smooth, hard };

class Recurrence {
public:
    Recurrence(const Shape &shape, const std::string &decay, bool rank_one, int length, Gates gates)
        : s_(shape), of_w_(decay == "key"    ? shape.dk
                           : decay == "head" ? 1
                                             : 0),
          rank_one_(rank_one), length_(length), q_(shape.key_heads * shape.dk, length), k_(q_.width, length),
          b_(q_.width, length), v_(shape.heads * shape.dv, length), o_(v_.width, length),
          w_(std::max(1, shape.heads * of_w_), length), a_(shape.heads * shape.dk, length) {
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        std::uniform_real_distribution<float> uniform;
        for (int t = 0; t < length; t++) {
            for (int i = 0; i < q_.width; i++) {
                q_.at(t, i) = normal(random);
                k_.at(t, i) = normal(random);
                b_.at(t, i) = normal(random) / std::sqrt(float(shape.dk)); // about of length 1
            }
            for (int i = 0; i < v_.width; i++) v_.at(t, i) = normal(random);
            for (int i = 0; i < w_.width; i++)
                w_.at(t, i) = gates == Gates::hard ? float(random() % 3 != 0)
                                                   : std::pow(uniform(random), float(i % 2 ? 0.01 : 1));
            // A delta rule takes away what the key b has read, or a part of it.
            for (int i = 0; i < a_.width; i++)
                a_.at(t, i) =
                    -0.9f * uniform(random) * b_.at(t, of_keys(i / shape.dk) * shape.dk + i % shape.dk);
            for (int i = 0; i < o_.lanes(); i++) o_.at(t, i) = NAN;
        }
    }

    void run(std::vector<Kernel> &kernels) {
        std::vector<float> state(size_t(s_.dk) * size_t(v_.lanes()) + 1, 0.0f),
            read(size_t(v_.lanes()) * 64, NAN);
        std::mt19937 random(5);
        for (int t = 0; t < length_;) {
            size_t choice = random() % s_.rows.size();
            if (t + s_.rows[choice] > length_) choice = 0;
            std::map<std::string, uint8_t *> places = {{"q", q_.place(t)},
                                                       {"k", k_.place(t)},
                                                       {"v", v_.place(t)},
                                                       {"o", o_.place(t)},
                                                       {"S", reinterpret_cast<uint8_t *>(&state[1])}};
            if (of_w_) places["w"] = w_.place(t);
            if (rank_one_) {
                places["a"] = a_.place(t), places["b"] = b_.place(t);
                places["read"] = reinterpret_cast<uint8_t *>(read.data());
            }
            kernels[choice].prepare(places);
            REQUIRE(kernels[choice].call_prepared() == 0);
            t += s_.rows[choice];
        }
    }

    // Largest error of o, relative to the root of its mean square.
    double error() {
        std::vector<double> state(size_t(s_.dk) * v_.width);
        double largest = 0, square = 0;
        for (int t = 0; t < length_; t++) {
            for (int lane = 0; lane < v_.width; lane++) {
                const int head = lane / s_.dv, key = of_keys(head) * s_.dk;
                double *column = &state[size_t(lane) * s_.dk], read = 0, sum = 0;
                for (int i = 0; rank_one_ && i < s_.dk; i++)
                    read += double(a_.at(t, head * s_.dk + i)) * column[i];
                for (int i = 0; i < s_.dk; i++) {
                    const double w = of_w_ ? w_.at(t, head * of_w_ + i % of_w_) : 1;
                    column[i] = w * column[i] + double(b_.at(t, key + i)) * read +
                                double(k_.at(t, key + i)) * v_.at(t, lane);
                    sum += q_.at(t, key + i) * column[i];
                }
                square += sum * sum;
                largest = std::max(largest, std::fabs(o_.at(t, lane) - sum));
            }
            for (int lane = v_.width; lane < o_.lanes(); lane++)
                if (o_.at(t, lane) != 0) FAIL("row ", t, ": lane ", lane, " is none");
        }
        return largest / std::sqrt(square / (double(length_) * v_.width));
    }

private:
    int of_keys(int head) const { return head / (s_.heads / s_.key_heads); }
    const Shape s_;
    const int of_w_; // decays of a head
    const bool rank_one_;
    const int length_;
    Lines q_, k_, b_, v_, o_, w_, a_;
};

// Each shape on one level of the CPU, in turns: all levels have the same code but for the width of vectors.
void check(const std::vector<Shape> &all, int length) {
    std::vector<longwave::targets::Target> levels;
    for (const longwave::targets::Target &target : longwave::targets::all())
        if (!target.by_name && host_runs(target)) levels.push_back(target);
    for (size_t level = 0; level < levels.size(); level++) {
        const longwave::targets::Target &target = levels[level];
        std::vector<Shape> shapes;
        for (size_t i = level; i < all.size(); i += levels.size()) shapes.push_back(all[i]);
        std::vector<std::string> specs;
        struct Form {
            std::string decay;
            bool rank_one;
        };
        const std::vector<Form> forms = {
            {"none", true}, {"head", false}, {"head", true}, {"key", false}, {"key", true}};
        for (const Shape &shape : shapes)
            for (const Form &form : forms)
                for (const int rows : shape.rows)
                    specs.push_back(spec(
                        rows == 1 ? "matrix_recurrence_step" : "matrix_recurrence_chunk",
                        fmt::format(R"("heads":{},"key_heads":{},"dk":{},"dv":{},"decay":"{}","rank_one":{})",
                                    shape.heads, shape.key_heads, shape.dk, shape.dv, form.decay,
                                    int{form.rank_one}) +
                            (rows == 1 ? "" : fmt::format(R"(,"rows":{})", rows))));
        auto kernels = load_kernels(specs, target, find_kgen());
        REQUIRE_MESSAGE(kernels, kernels.status().message());
        auto next = kernels->begin();
        for (const Shape &shape : shapes)
            for (const Form &form : forms) {
                std::vector<Kernel> own(std::make_move_iterator(next),
                                        std::make_move_iterator(next + std::ptrdiff_t(shape.rows.size())));
                next += std::ptrdiff_t(shape.rows.size());
                for (const Gates gates : {Gates::smooth, Gates::hard}) {
                    Recurrence recurrence(shape, form.decay, form.rank_one, length, gates);
                    recurrence.run(own);
                    const double error = recurrence.error();
                    INFO(std::string(target.name), " dk ", shape.dk, " dv ", shape.dv, " decay ", form.decay,
                         " rank one ", form.rank_one,
                         std::string(gates == Gates::smooth ? " smooth: " : " hard: "), error);
                    // The largest error of some 20,000 outputs, which are sums of dk products of either sign
                    // of a state in float32.
                    CHECK(error <= 1e-5);
                }
            }
    }
}

} // namespace

TEST_CASE("matrix_recurrence: steps and chunks in any order are the recurrence") {
    check({{1, 1, 16, 16, {1, 16}},
           {4, 2, 32, 64, {1, 16, 33}},
           {2, 2, 24, 128, {1, 8}},
           {4, 1, 40, 40, {1, 5}}},
          300);
}

TEST_CASE("matrix_recurrence: heads narrower than a vector, and widths of 1") {
    check({{3, 3, 5, 7, {1, 2, 7}}, {6, 3, 8, 4, {1, 16}}, {1, 1, 5, 1, {1, 13}}, {1, 1, 1, 1, {1, 16}}},
          300);
}

} // namespace matrix_recurrence_test
