// Random sets of parallel branches become one convolution with the same results, edges included; the reference
// of every op is in float64, so what differs is the order of sums.
#include "compiler/ops/filter.h"
#include "compiler/ops/op.h"
#include "compiler/passes/merge_branches.h"
#include "tests/compiler/ir/graphs.h"
#include <algorithm>
#include <fmt/format.h>

using namespace longwave;
using namespace longwave::ir;

namespace {

// Writes the text of a graph with one set of branches on one input.
class BranchSet {
public:
    explicit BranchSet(unsigned seed) : random_(seed) {
        heads_ = 1 + below(4);
        copies_ = below(3) == 0 ? 2 + below(2) : 1;
        centred_ = below(2) == 0;
        text_ = fmt::format("%x = input \"x\" features : f32[{}] @1/1\n", heads_);
        const unsigned branches = 2 + below(4);
        for (unsigned i = 0; i < branches; ++i) {
            const std::string term = below(4) == 0 && copies_ == 1 ? "x" : convolution();
            add(below(2) == 0 ? norm(term) : term);
        }
        if (below(2) == 0) sum_ = norm(sum_);
        text_ += "output \"y\" %" + sum_;
    }
    const std::string &text() const { return text_; }
    const Weights &weights() const { return weights_; }
    unsigned heads() const { return heads_; }
    unsigned convolutions() const { return convolutions_; }

private:
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

    std::string constant(const std::string &shape, size_t elements, bool positive = false) {
        const std::string name = fmt::format("w{}", weights_.size());
        std::vector<double> values = random_numbers(elements, static_cast<unsigned>(random_()));
        if (positive)
            for (double &value : values) value = 0.5 + std::abs(value);
        weights_[name] = std::move(values);
        text_ += fmt::format("%{0} = const \"{0}\" : [{1}]\n", name, shape);
        return name;
    }
    std::string node(const std::string &expression) {
        const std::string name = fmt::format("n{}", nodes_++);
        text_ += fmt::format("%{} = {} ; layer {}\n", name, expression, name);
        return name;
    }

    // A short one of odd size with rows between its taps, a long one of one side or both.
    std::string convolution() {
        convolutions_++;
        const unsigned dilation = 1 + below(3), size = 1 + 2 * below(4), reach = dilation * (size - 1) + 1;
        const unsigned kind = copies_ > 1 ? 2 : below(3);
        if (kind < 2) {
            const std::string w = constant(centred_ ? fmt::format("{},{}", heads_, reach)
                                                    : fmt::format("{},1,{},1", heads_, reach),
                                           size_t{heads_} * reach);
            std::vector<double> &taps = weights_[w];
            for (size_t i = 0; i < taps.size(); ++i)
                if (i % reach % dilation) taps[i] = 0;
            const bool bias = below(2) == 0;
            const std::string b = bias ? ", %" + constant(fmt::format("{}", heads_), heads_) : "";
            if (centred_) return node(fmt::format("centred_conv(%x, %{}{}) {{bias={:d}}}", w, b, bias));
            return node(
                fmt::format("conv2d(%x, %{}{}) {{stride_t=1, stride_f=1, groups={}, bias={:d}, frequency=0}}",
                            w, b, heads_, bias));
        }
        const bool two_sided = centred_ && below(3) > 0;
        const unsigned rows = two_sided ? 2 * copies_ : copies_, taps = 1 + below(12);
        const std::string k = constant(fmt::format("{},{},{}", rows, heads_, taps),
                                       size_t{rows} * heads_ * taps),
                          d = constant(fmt::format("{},{}", copies_, heads_), size_t{copies_} * heads_);
        return node(
            fmt::format("long_conv(%x, %{}, %{}) {{channels={}, two_sided={:d}}}", k, d, copies_, two_sided));
    }

    std::string norm(const std::string &value) {
        const size_t width = size_t{heads_} * copies_;
        const std::string shape = fmt::format("{}", width);
        const std::string a = constant(shape, width), b = constant(shape, width);
        if (below(2) == 0) return node(fmt::format("affine(%{}, %{}, %{})", value, a, b));
        const std::string m = constant(shape, width), v = constant(shape, width, true);
        return node(fmt::format("batch_norm(%{}, %{}, %{}, %{}, %{}) {{eps=1e-5}}", value, a, b, m, v));
    }
    void add(const std::string &term) {
        sum_ = sum_.empty() ? term : node(fmt::format("add(%{}, %{})", sum_, term));
    }

    std::mt19937 random_;
    unsigned heads_ = 1, copies_ = 1, nodes_ = 0, convolutions_ = 0;
    bool centred_ = false;
    std::string text_, sum_;
    Weights weights_;
};

bool filters(const Graph &graph, const Node &node) {
    return node.op->rewrites.filter && node.op->rewrites.filter->is(graph, node);
}

} // namespace

TEST_CASE("merge_branches: 200 random sets of branches, of one copy or several, one side or both, are one "
          "convolution") {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        const BranchSet set(seed);
        INFO("seed " << seed << "\n" << set.text());
        const Graph graph = graph_of(set.text(), set.weights());
        const auto made = compiler::merge_branches(graph);
        REQUIRE_MESSAGE(made, made.status().message());
        const Status status = verify(*made);
        REQUIRE_MESSAGE(status, status.message());
        const auto left = std::count_if(made->nodes.begin(), made->nodes.end(),
                                        [&](const Node &node) { return filters(*made, node); });
        CHECK(left == (set.convolutions() ? 1 : 0));
        if (left) REQUIRE(!made->certificates.empty());
        for (const Certificate &certificate : made->certificates) CHECK(certificate.error <= 1e-12);
        for (const size_t rows : {1u, 3u, 7u, 40u}) { // shorter than the kernels, and longer
            const Array x = rows_of(set.heads(), random_numbers(rows * set.heads(), seed));
            const std::vector<double> before = run(graph, x).data, after = run(*made, x).data;
            double peak = 0;
            for (const double value : before) peak = std::max(peak, std::abs(value));
            CHECK(largest_difference(before, after) <= 1e-12 * peak);
        }
    }
}
