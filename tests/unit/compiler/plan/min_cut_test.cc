// Minimum cuts, compared with all divisions of small graphs.
#include "compiler/plan/min_cut.h"
#include <doctest/doctest.h>
#include <random>

namespace min_cut_test {

using longwave::compiler::MinCut;

namespace {

struct Edge {
    size_t from, to;
    uint64_t capacity;
};

uint64_t cost_of(const std::vector<Edge> &edges, const std::vector<bool> &of_source) {
    uint64_t cost = 0;
    for (const Edge &edge : edges)
        if (of_source[edge.from] && !of_source[edge.to]) cost += edge.capacity;
    return cost;
}

} // namespace

TEST_CASE("min_cut: no division of a small graph costs less, nor as much with fewer nodes of the source") {
    std::mt19937 random(7);
    for (int graph = 0; graph < 200; graph++) {
        constexpr size_t nodes = 8;
        MinCut cut;
        for (size_t n = 2; n < nodes; n++) CHECK(cut.add_node() == n);
        std::vector<Edge> edges;
        for (int e = 0; e < 18; e++) edges.push_back({random() % nodes, random() % nodes, random() % 5});
        for (const Edge &edge : edges) cut.add_edge(edge.from, edge.to, edge.capacity);
        const std::vector<bool> found = cut.source_side();
        REQUIRE(found.size() == nodes);
        CHECK(found[MinCut::source]);
        CHECK(!found[MinCut::sink]);
        const uint64_t cost = cost_of(edges, found);
        const auto most = std::count(found.begin(), found.end(), true);
        for (size_t division = 0; division < size_t{1} << (nodes - 2); division++) {
            std::vector<bool> other{true, false};
            for (size_t n = 0; n < nodes - 2; n++) other.push_back((division >> n & 1) != 0);
            const uint64_t other_cost = cost_of(edges, other);
            CHECK(other_cost >= cost);
            if (other_cost == cost) CHECK(std::count(other.begin(), other.end(), true) >= most);
        }
    }
}

TEST_CASE("min_cut: what must not be cut") {
    MinCut cut;
    const size_t a = cut.add_node(), b = cut.add_node(), apart = cut.add_node();
    cut.add_edge(MinCut::source, a, 7);
    cut.add_edge(a, b, MinCut::never);
    cut.add_edge(b, MinCut::sink, 5);
    CHECK(cut.source_side() == std::vector<bool>{true, false, true, true, false});
    CHECK(apart == 4);
}

} // namespace min_cut_test
