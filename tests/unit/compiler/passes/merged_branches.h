// Graphs with branches before and after merge_branches, with equal numbers, and constants for them.
#pragma once
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <algorithm>

namespace longwave::ir {

inline Graph merged(const Graph &graph) {
    auto made = compiler::merge_branches(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    const size_t width = graph.type(0).width();
    for (const size_t rows : {1u, 2u, 5u, 30u}) { // both edges: sequences shorter than the kernel, and longer
        const Array x = rows_of(width, random_numbers(rows * width, 3));
        check_close(run(*made, x).data, run(graph, x).data, 1e-13);
    }
    return *std::move(made);
}

inline size_t count(const Graph &graph, const std::string &op) {
    return static_cast<size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                             [&](const Node &node) { return node.op->name == op; }));
}

inline const Weights weights{{"k3", random_numbers(6, 1)},
                             {"k5", random_numbers(10, 2)},
                             {"k9", random_numbers(18, 9)},
                             {"two", random_numbers(12, 4)},
                             {"D", {0.5, -2}},
                             {"w", {1.5, 0.3}},
                             {"b", {1, -1}},
                             {"m", {0.2, 3}},
                             {"v", {0.5, 2}},
                             {"p", random_numbers(24, 5)},
                             {"zero", {0, 0}}};

inline const char *const head = R"(graph "g"
    %x = input "x" features : f32[2] @1/1
    %k3 = const "k3" : [1,2,3]
    %k5 = const "k5" : [1,2,5]
    %k9 = const "k9" : [1,2,9]
    %two = const "two" : [2,2,3]
    %p = const "p" : [3,1,2,4]
    %0 = const "zero" : [1,2]
    %D = const "D" : [1,2]
    %w = const "w" : [2]
    %b = const "b" : [2]
    %m = const "m" : [2]
    %v = const "v" : [2]
)";

} // namespace longwave::ir
