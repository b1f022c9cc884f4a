// The cheapest division of nodes into two sides, by augmenting paths (Edmonds and Karp 1972).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace longwave::compiler {

class MinCut {
public:
    static constexpr size_t source = 0, sink = 1;
    static constexpr uint64_t never = uint64_t{1} << 60; // more than all that may be cut

    MinCut() : edges_(2) {}
    size_t add_node();
    // Costs `capacity` if `from` is on the side of the source, and `to` on that of the sink. There must
    // be a cut that costs less than `never`.
    void add_edge(size_t from, size_t to, uint64_t capacity);
    // By node: whether it is on the side of the source. Of several cheapest cuts the one with the
    // fewest nodes there.
    std::vector<bool> source_side();

private:
    struct Edge {
        size_t to, back; // the edge back, among those of `to`
        uint64_t left;   // capacity that no flow uses
    };
    bool add_flow(); // along a shortest path; false: there is none

    std::vector<std::vector<Edge>> edges_; // by node
};

} // namespace longwave::compiler
