// Lowering and the ops' reference loops against outputs of the published SGConv code.
#include "compiler/layers/lower.h"
#include "compiler/ops/support/reference.h"
#include "tests/oracles/oracle_package.h"
#include <cmath>
#include <cstdio>
#include <doctest/doctest.h>

namespace oracles_test {

using namespace longwave;

namespace {

// The oracles are float32 roundings of float64 results (6e-8 of the peak at most), and so are the
// weights of both sides; what remains is the order of float64 sums. 1e-6 leaves room for that and
// is below what any wrong norm, eps, lag or scale does (more than 1e-5).
constexpr double limit = 1e-6;

// The official padded form: positions behind the length enter convolutions, pooling stops at the
// length. Every clock of these models is the input's.
std::vector<ir::Array> evaluate_padded(const ir::Graph &graph, const oracles::Run &run) {
    std::vector<ir::Array> values(graph.values.size());
    std::vector<size_t> lengths(graph.values.size());
    for (size_t i = 0; i < run.inputs.size(); ++i) {
        for (const auto &input : graph.inputs) {
            if (input.name != run.inputs[i].name) continue;
            values[input.value] = {run.inputs[i].rows,
                                   run.inputs[i].width,
                                   {run.inputs[i].data.begin(), run.inputs[i].data.end()}};
            lengths[input.value] = run.lengths[i];
        }
    }
    for (ir::ValueId id = 0; id < values.size(); ++id)
        if (const ir::Constant *constant = graph.constant(id))
            values[id] = {1, constant->data.size(), constant->data.to_vector()};
    for (const auto &node : graph.nodes) {
        std::vector<ir::Operand> inputs;
        size_t rows = 1;
        for (auto id : node.inputs) {
            inputs.emplace_back(values[id]);
            lengths[node.output] = std::max(lengths[node.output], lengths[id]);
            if (!graph.type(node.output).clock.timeless()) rows = std::max(rows, values[id].rows);
        }
        values[node.output] = ir::evaluate_node(graph, node, inputs, rows, lengths[node.inputs[0]]);
    }
    return values;
}

// Largest difference relative to the peak; a running expectation is met in its last row.
double error_of(const ir::Array &found, const oracles::Expectation &expected) {
    const auto &want = expected.output;
    const size_t skip = expected.running ? want.rows - 1 : 0;
    REQUIRE(found.width == want.width);
    REQUIRE(found.rows == want.rows - skip);
    double worst = 0;
    for (size_t i = 0; i < found.data.size(); ++i)
        worst = std::max(worst, std::abs(found.data[i] - double{want.data[skip * want.width + i]}));
    return worst / expected.peak;
}

// The taps against ref.k (cut or padded to the sequence) or, where sequences are shorter than the
// kernel, ref.k_full as far as taps go.
void check_kernel(const ir::Graph &graph, const oracles::Case &fixture,
                  const std::vector<ir::Array> &values) {
    for (const auto &node : graph.nodes) {
        if (std::string(node.op->name) != "sgconv_kernel") continue;
        const auto &dims = graph.type(node.output).dims;
        for (const char *key : {"k", "k_full"}) {
            auto reference = fixture.references.find(key);
            if (reference == fixture.references.end()) continue;
            const auto &shape = reference->second.shape;
            REQUIRE(shape[0] * shape[1] == uint64_t{dims[0]} * dims[1]);
            double peak = 0, worst = 0;
            for (size_t r = 0; r < shape[0] * shape[1]; ++r)
                for (size_t j = 0; j < shape[2]; ++j) {
                    const double want = reference->second.data[r * shape[2] + j];
                    peak = std::max(peak, std::abs(want));
                    if (j >= dims[2] && std::string(key) == "k_full") continue; // taps stop at l_max
                    worst = std::max(
                        worst,
                        std::abs((j < dims[2] ? values[node.output].data[r * dims[2] + j] : 0) - want));
                }
            CAPTURE(key);
            CHECK(worst / peak < limit);
        }
    }
}

} // namespace

TEST_CASE("sgconv layers lowered to ops give what the published code gives") {
    const auto paths =
        oracles::list_cases(oracles::oracle_folder(), {"sgconv_op_", "sgconv_model_", "stream_sgconv"});
    CHECK(paths.size() >= 11); // those of the repository
    for (const auto &path : paths) {
        CAPTURE(path);
        auto fixture = oracles::read_case(path);
        REQUIRE_MESSAGE(fixture, fixture.status().message());
        auto package = package::parse(fixture->model_json, fixture->weights);
        REQUIRE_MESSAGE(package, package.status().message());
        CHECK(package->unused.empty());
        auto graph = compiler::lower(*package);
        REQUIRE_MESSAGE(graph, graph.status().message());
        for (const auto &run : fixture->runs) {
            const auto values = evaluate_padded(*graph, run);
            for (const auto &expected : run.outputs) {
                CAPTURE(expected.output.name);
                bool known = false;
                for (const auto &output : graph->outputs) {
                    if (output.name != expected.output.name) continue;
                    known = true;
                    CHECK(error_of(values[output.value], expected) < limit);
                }
                CHECK(known);
            }
            if (&run == &fixture->runs.front()) check_kernel(*graph, *fixture, values);
        }
    }
}

TEST_CASE("a window as long as the sequence gives the published running mean at every position") {
    for (const auto &path : oracles::list_cases(oracles::oracle_folder(), {"stream_sgconv_K2048_glu"})) {
        auto fixture = oracles::read_case(path);
        REQUIRE(fixture);
        auto model = nlohmann::json::parse(fixture->model_json);
        for (auto &layer : model["layers"])
            if (layer["type"] == "mean")
                layer = {{"type", "mean_window"},
                         {"name", layer["name"]},
                         {"input", layer["input"]},
                         {"frames", fixture->positions}};
        auto package = package::parse(model.dump(), fixture->weights);
        REQUIRE_MESSAGE(package, package.status().message());
        auto graph = compiler::lower(*package);
        REQUIRE_MESSAGE(graph, graph.status().message());
        const auto values = evaluate_padded(*graph, fixture->runs[0]);
        for (auto expected : fixture->runs[0].outputs) {
            if (!expected.running) continue;
            expected.running = false; // all rows
            for (const auto &output : graph->outputs)
                if (output.name == expected.output.name)
                    CHECK(error_of(values[output.value], expected) < limit);
        }
    }
}

} // namespace oracles_test
