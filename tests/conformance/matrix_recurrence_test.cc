// Ops with a matrix state from package to runs and streams, with keys and values of unequal widths: against
// one float64 loop that is written from their definitions. The limit of 1e-5 is that of the family.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>

namespace matrix_recurrence_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t features = 8, whole_rows = 100, rows = 3000, compared = 300;
constexpr double limit = 1e-5;

// What the layer computes. `op` takes the rows of projections, some of them behind a sigmoid.
struct Layer {
    const char *op;
    size_t heads, key_heads, dk, dv;
    std::string decay = "none";
    bool rank_one = false;

    size_t of_decay() const { return decay == "key" ? dk : decay == "head" ? 1 : 0; }
    bool weighs() const { return std::string(op) == "decaying_attention"; } // 1 - w decays, and w is the key
};

struct Projection {
    const char *name;
    size_t width;
    bool sigmoid;
    double scale;
};

std::vector<Projection> projections(const Layer &l) {
    if (l.weighs())
        return {{"q", l.heads * l.dk, false, 0.6},
                {"w", l.heads * l.dk, true, 0.6},
                {"v", l.heads * l.dv, false, 0.6}};
    std::vector<Projection> list = {{"q", l.key_heads * l.dk, false, 0.6},
                                    {"k", l.key_heads * l.dk, false, 0.6},
                                    {"v", l.heads * l.dv, false, 0.6}};
    if (l.of_decay()) list.push_back({"w", l.heads * l.of_decay(), true, 0.6});
    if (l.rank_one) {
        list.push_back({"a", l.heads * l.dk, false, 0.1});
        list.push_back({"b", l.key_heads * l.dk, false, 0.1});
    }
    return list;
}

std::vector<float> weight(const Projection &p) {
    return random_numbers(p.width * features, static_cast<uint32_t>(p.name[0]), p.scale);
}

const std::vector<float> &input() {
    static const std::vector<float> x = random_numbers(rows * features, 4, 1);
    return x;
}

cli::Model model_of(const Layer &l, const std::vector<uint32_t> &blocks) {
    std::string nodes, inputs;
    Tensors weights;
    for (const Projection &p : projections(l)) {
        weights[p.name] = {{p.width, features}, weight(p)};
        nodes += fmt::format(
            R"({{"name": "{0}_in", "op": "linear", "inputs": ["x", {{"tensor": "{0}"}}], "attributes": {{"bias": 0}}}},)",
            p.name);
        if (p.sigmoid)
            nodes += fmt::format(R"({{"name": "{0}_gate", "op": "sigmoid", "inputs": ["{0}_in"]}},)", p.name);
        inputs += fmt::format(R"({}"{}_{}")", inputs.empty() ? "" : ", ", p.name, p.sigmoid ? "gate" : "in");
    }
    const std::string attributes =
        std::string(l.op) == "matrix_recurrence"
            ? fmt::format(R"("heads": {}, "key_heads": {}, "decay": "{}", "rank_one": {})", l.heads,
                          l.key_heads, l.decay, int{l.rank_one})
            : fmt::format(R"("heads": {})", l.heads);
    const std::string json = fmt::format(
        R"({{"format": "longwave-model", "version": 2, "name": "graph", "length": {}, "inputs": [{{"name": "x", "kind": "features", "width": {}}}],
        "graph": [{}{{"name": "y", "op": "{}", "inputs": [{}], "attributes": {{{}}}}}], "outputs": [{{"name": "y", "from": "y"}}]}})",
        whole_rows, features, nodes, l.op, inputs, attributes);
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    options.blocks = blocks;
    return opened(compiled(json, std::move(weights), options));
}

// Rows [first, last) of the result.
std::vector<double> reference(const Layer &l, size_t first, size_t last) {
    std::vector<double> state(l.heads * l.dk * l.dv), kept;
    for (size_t t = 0; t < last; t++) {
        std::map<std::string, std::vector<double>> row;
        for (const Projection &p : projections(l)) {
            const std::vector<float> w = weight(p);
            std::vector<double> &out = row[p.name];
            for (size_t o = 0; o < p.width; o++) {
                double sum = 0;
                for (size_t i = 0; i < features; i++)
                    sum += double{w[o * features + i]} * input()[t * features + i];
                out.push_back(p.sigmoid ? 1 / (1 + std::exp(-sum)) : sum);
            }
        }
        for (size_t h = 0; h < l.heads; h++)
            for (size_t c = 0; c < l.dv; c++) {
                const size_t key = h / (l.heads / l.key_heads) * l.dk;
                const auto s = [&](size_t i) -> double & { return state[(h * l.dk + i) * l.dv + c]; };
                double read = 0, o = 0;
                for (size_t i = 0; l.rank_one && i < l.dk; i++) read += row["a"][h * l.dk + i] * s(i);
                for (size_t i = 0; i < l.dk; i++) {
                    double decay = 1;
                    if (l.weighs()) decay = 1 - row["w"][key + i];
                    else if (l.of_decay()) decay = row["w"][h * l.of_decay() + i % l.of_decay()];
                    s(i) = decay * s(i) + row[l.weighs() ? "w" : "k"][key + i] * row["v"][h * l.dv + c];
                    if (l.rank_one) s(i) += row["b"][key + i] * read;
                    o += row["q"][key + i] * s(i);
                }
                if (t >= first) kept.push_back(o);
            }
    }
    return kept;
}

} // namespace

TEST_CASE("matrix states: runs and streams of every block are the recurrence, also where widths differ") {
    const Layer layers[] = {
        {"linear_attention", 2, 2, 12, 32},
        {"linear_attention", 3, 3, 40, 5},
        {"decaying_attention", 2, 2, 12, 32},
        {"decaying_attention", 3, 3, 40, 5},
        {"matrix_recurrence", 4, 2, 12, 32, "head", true},
        {"matrix_recurrence", 4, 4, 12, 32, "key", true},
        {"matrix_recurrence", 6, 2, 9, 5, "key", true},
        {"matrix_recurrence", 4, 1, 32, 16, "head", false},
    };
    const std::vector<uint32_t> blocks{1, 16, 64};
    for (const Layer &layer : layers) {
        const cli::Model model = model_of(layer, blocks);
        const cli::Sequence in =
            sequence_of({input().begin(), input().begin() + whole_rows * features}, features);
        const double whole = distance(outputs_of_run(model, in)[0], reference(layer, 0, whole_rows));
        INFO(layer.op, " ", layer.decay, " dk ", layer.dk, " dv ", layer.dv);
        CHECK(whole <= limit);
        const std::vector<double> expected = reference(layer, rows - compared, rows);
        for (uint32_t entry = 0; entry < blocks.size(); entry++)
            CHECK(distance(streamed(model, input().data(), rows, entry, rows - compared), expected) <= limit);
        // One copy of the matrix, in one float an element or in two.
        const uint64_t floats = std::string(layer.op) == "matrix_recurrence" ? 1 : 2;
        CHECK(carried_bytes(model) ==
              floats * sizeof(float) * layer.dk * ((layer.heads * layer.dv + 15) / 16 * 16));
    }
}

} // namespace matrix_recurrence_test
