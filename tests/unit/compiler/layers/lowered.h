// Comparisons of what a small model is lowered to.
#pragma once
#include "compiler/ir/op.h"
#include "compiler/ir/text.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <doctest/doctest.h>

namespace longwave::tests {

inline void becomes(const std::string &input, const std::string &layers, Weights weights,
                    const std::string &expected) {
    auto graph = lowered(input, layers, std::move(weights));
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK("\n" + ir::print(*graph) == expected);
    // What is printed reads back as the same graph: types agree with what the ops infer.
    auto again = ir::parse(ir::print(*graph));
    REQUIRE_MESSAGE(again, again.status().message());
    CHECK(ir::print(*again) == ir::print(*graph));
}

inline const ir::Numbers &constant(const ir::Graph &graph, const std::string &key) {
    for (const auto &c : graph.constants)
        if (c.key == key) return c.data;
    FAIL("no constant " << key);
    return graph.constants[0].data;
}

} // namespace longwave::tests
