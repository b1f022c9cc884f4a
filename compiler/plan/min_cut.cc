#include "compiler/plan/min_cut.h"
#include <algorithm>

namespace longwave::compiler {

namespace {

constexpr size_t unreached = SIZE_MAX;

} // namespace

size_t MinCut::add_node() {
    edges_.emplace_back();
    return edges_.size() - 1;
}

void MinCut::add_edge(size_t from, size_t to, uint64_t capacity) {
    if (from == to) return;
    edges_[from].push_back({to, edges_[to].size(), capacity});
    edges_[to].push_back({from, edges_[from].size() - 1, 0});
}

bool MinCut::add_flow() {
    std::vector<std::pair<size_t, size_t>> came(edges_.size(), {unreached, 0}); // from a node, by its edge
    std::vector<size_t> queue{source};
    for (size_t next = 0; next < queue.size() && came[sink].first == unreached; next++) {
        const size_t node = queue[next];
        for (size_t e = 0; e < edges_[node].size(); e++) {
            const Edge &edge = edges_[node][e];
            if (edge.left == 0 || edge.to == source || came[edge.to].first != unreached) continue;
            came[edge.to] = {node, e};
            queue.push_back(edge.to);
        }
    }
    if (came[sink].first == unreached) return false;
    const auto along_path = [&](const auto &visit) {
        for (size_t node = sink; node != source; node = came[node].first)
            visit(edges_[came[node].first][came[node].second]);
    };
    uint64_t flow = never;
    along_path([&](const Edge &edge) { flow = std::min(flow, edge.left); });
    along_path([&](Edge &edge) {
        edge.left -= flow;
        edges_[edge.to][edge.back].left += flow;
    });
    return true;
}

std::vector<bool> MinCut::source_side() {
    while (add_flow()) {
    }
    std::vector<bool> reached(edges_.size(), false);
    std::vector<size_t> queue{source};
    reached[source] = true;
    for (size_t next = 0; next < queue.size(); next++)
        for (const Edge &edge : edges_[queue[next]])
            if (edge.left > 0 && !reached[edge.to]) {
                reached[edge.to] = true;
                queue.push_back(edge.to);
            }
    return reached;
}

} // namespace longwave::compiler
