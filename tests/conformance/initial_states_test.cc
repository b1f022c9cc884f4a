// Cells whose states begin with other numbers than zeros, against float64 loops written from the
// definitions of the ops: runs, streams however they are cut, saved states, resets.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>

namespace initial_states_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t length = 150;
// Float32 gates of up to 128 products and three functions within a few units each, fed back by at
// most the forget gate.
constexpr double limit = 5e-6;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

struct Cell {
    std::string op;
    size_t gates, units;
    bool after;
    std::vector<float> w, b, first;

    Cell(const std::string &op_, size_t units_, bool after_ = true)
        : op(op_), gates(op_ == "lstm" ? 4 : 3), units(units_), after(after_),
          w(random_numbers(gates * units * units, 8, 2 / std::sqrt(static_cast<double>(units)))),
          b(random_numbers(units, 9)), first(random_numbers((gates == 4 ? 2 : 1) * units, 11, 1.5)) {}

    // weight_g·h
    std::vector<double> product(size_t g, const std::vector<double> &h) const {
        std::vector<double> u(units);
        for (size_t i = 0; i < units; i++)
            for (size_t k = 0; k < units; k++) u[i] += double{w[(g * units + i) * units + k]} * h[k];
        return u;
    }
    // Of rows that go on from `h` and `c`.
    std::vector<double> rows(const std::vector<float> &x) const {
        std::vector<double> y, h(first.begin(), first.begin() + static_cast<ptrdiff_t>(units)), c(units);
        if (gates == 4) c.assign(first.begin() + static_cast<ptrdiff_t>(units), first.end());
        for (size_t t = 0; t < length; t++) {
            std::vector<std::vector<double>> u;
            for (size_t g = 0; g < gates; g++) u.push_back(product(g, h));
            const auto gate = [&](size_t g, size_t i) {
                return double{x[(t * gates + g) * units + i]} + u[g][i];
            };
            if (gates == 4) {
                for (size_t i = 0; i < units; i++) {
                    c[i] = logistic(gate(1, i)) * c[i] + logistic(gate(0, i)) * std::tanh(gate(2, i));
                    h[i] = logistic(gate(3, i)) * std::tanh(c[i]);
                }
            } else {
                std::vector<double> r(units), z(units), kept(units);
                for (size_t i = 0; i < units; i++)
                    r[i] = logistic(gate(0, i)), z[i] = logistic(gate(1, i)), kept[i] = r[i] * h[i];
                if (!after) u[2] = product(2, kept);
                for (size_t i = 0; i < units; i++) {
                    const double inside = after ? r[i] * (u[2][i] + double{b[i]}) : u[2][i] + double{b[i]};
                    h[i] =
                        (1 - z[i]) * std::tanh(double{x[(t * gates + 2) * units + i]} + inside) + z[i] * h[i];
                }
            }
            y.insert(y.end(), h.begin(), h.end());
        }
        return y;
    }
    std::string json() const {
        const std::string bias = gates == 3 ? R"({"tensor": "b"}, )" : "";
        return fmt::format(R"({{"format": "longwave-model", "version": 2, "name": "begun", "length": {},
            "inputs": [{{"name": "x", "kind": "features", "width": {}}}],
            "graph": [{{"name": "y", "op": "{}", "inputs": ["x", {{"tensor": "w"}}, {}{{"tensor": "first"}}]{}}}],
            "outputs": [{{"name": "y", "from": "y"}}]}})",
                           length, gates * units, op, bias,
                           after ? "" : R"(, "attributes": {"reset_after": 0})");
    }
    Tensors tensors() const {
        Tensors all{{"w", {{gates * units, units}, w}}};
        if (gates == 3) all["b"] = {{units}, b};
        all["first"] = gates == 4 ? package::Tensor{{2, units}, first} : package::Tensor{{units}, first};
        return all;
    }
    cli::Model model() const {
        compiler::Options options = options_here();
        options.stream = compiler::StreamMode::required;
        options.blocks = {1, 64};
        return opened(compiled(json(), tensors(), options));
    }
};

std::vector<Cell> cells() {
    std::vector<Cell> list;
    for (const size_t units : {1, 2, 3, 128}) {
        list.emplace_back("lstm", units);
        list.emplace_back("gru", units);
        list.emplace_back("gru", units, false);
    }
    return list;
}

cli::Stream stream_of(const cli::Model &model, uint32_t entry) {
    auto made = cli::Stream::create(model, LW_F32, entry);
    REQUIRE_MESSAGE(made, made.status().message());
    return *std::move(made);
}

// Pushes rows [from, to) in pieces of `cut`; what it finds goes behind `found`.
void push(cli::Stream &stream, const std::vector<float> &x, size_t width, size_t from, size_t to, size_t cut,
          std::vector<float> &found) {
    const cli::OnRow take = [&](const cli::StreamRow &row) {
        found.insert(found.end(), row.data, row.data + row.width);
    };
    for (size_t at = from; at < to; at += cut)
        REQUIRE(stream.push(&x[at * width], std::min(cut, to - at), take));
}

// check(cell, model, width of x, x)
template <class Check> void with_each_cell(const Check &check) {
    for (const Cell &cell : cells()) {
        CAPTURE(cell.op);
        CAPTURE(cell.units);
        CAPTURE(cell.after);
        const size_t width = cell.gates * cell.units;
        check(cell, cell.model(), width, random_numbers(width * length, 10, 2));
    }
}

} // namespace

TEST_CASE("cells that begin with given states: runs and streams against float64") {
    with_each_cell([](const Cell &cell, const cli::Model &model, size_t width, const std::vector<float> &x) {
        const auto expected = cell.rows(x);
        CHECK(distance(outputs_of_run(model, sequence_of(x, width))[0], expected) < limit);
        const std::vector<float> one(x.begin(),
                                     x.begin() + static_cast<ptrdiff_t>(width)); // a run of one row
        CHECK(distance(outputs_of_run(model, sequence_of(one, width))[0],
                       std::vector<double>(expected.begin(),
                                           expected.begin() + static_cast<ptrdiff_t>(cell.units))) < limit);
        for (const uint32_t entry : {0u, 1u})
            CHECK(distance(streamed(model, x.data(), length, entry), expected) < limit);
    });
}

TEST_CASE("cells that begin with given states: the bits do not depend on cuts, saved states or resets") {
    with_each_cell([](const Cell &, const cli::Model &model, size_t width, const std::vector<float> &x) {
        const auto whole = streamed(model, x.data(), length, 0);
        cli::Stream stream = stream_of(model, 0);
        for (const size_t cut : {1, 7, 64, 150}) {
            std::vector<float> found;
            push(stream, x, width, 0, length, cut, found);
            CHECK(same_bits(found, whole));
            REQUIRE(stream.reset());
        }
        // Saved at the start, in the middle, and loaded into a stream that has gone on.
        for (const size_t at : {0, 1, 70}) {
            std::vector<float> found;
            push(stream, x, width, 0, at, 7, found);
            const auto saved = stream.save();
            REQUIRE(saved);
            cli::Stream other = stream_of(model, 0);
            std::vector<float> nothing;
            push(other, x, width, 0, 5, 5, nothing);
            REQUIRE(other.load(*saved));
            push(other, x, width, at, length, 11, found);
            CHECK(same_bits(found, whole));
            REQUIRE(stream.reset());
        }
    });
}

TEST_CASE("cells that begin with given states: the file has a version of its own, and without them it stays "
          "as it was") {
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    for (Cell cell : {Cell("lstm", 3), Cell("gru", 3)}) {
        const auto minor = [&] {
            const auto made = compiled(cell.json(), cell.tensors(), options);
            REQUIRE_MESSAGE(made, made.status().message());
            return made->artifact[10];
        };
        CHECK(minor() == 8);
        std::fill(cell.first.begin(), cell.first.end(), 0.f);
        CHECK(minor() < 8);
    }
}

} // namespace initial_states_test
