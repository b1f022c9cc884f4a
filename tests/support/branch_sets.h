// Random sets of parallel branches on one input, as graph text: short convolutions of odd sizes
// with rows between their taps, causal or centred, long ones of one side or both and of several
// copies, D, identities, norms behind a branch or behind the sum.
#pragma once
#include "tests/unit/compiler/ir/graphs.h"
#include <fmt/format.h>

namespace longwave::test {

// What a set is drawn from. Each short size with each dilation, and each number of taps, is a
// kernel of its own where sets are compiled.
struct BranchChoices {
    std::vector<unsigned> heads = {1, 2, 3, 4}, copies = {1, 1, 1, 1, 2, 3}, sizes = {1, 3, 5, 7},
                          dilations = {1, 2, 3}, taps = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    bool norms_as_affine =
        false; // the same set with each batch_norm written as scale and shift: as it runs unmerged
};

class BranchSet {
public:
    // `name`: what the names of its values begin with. It reads %x, of as many features as heads().
    explicit BranchSet(unsigned seed, std::string name = "", const BranchChoices &choices = {})
        : random_(seed), name_(std::move(name)), choices_(choices), heads_(one_of(choices.heads)),
          copies_(one_of(choices.copies)), centred_(below(2) == 0) {
        const unsigned branches = 2 + below(4);
        for (unsigned i = 0; i < branches; ++i) {
            const std::string term = below(4) == 0 && copies_ == 1 ? "x" : convolution();
            add(below(2) == 0 ? norm(term) : term);
        }
        if (below(2) == 0) sum_ = norm(sum_);
    }
    const std::string &text() const { return text_; } // its nodes, a line each, without input and output
    const std::string &result() const { return sum_; }
    const ir::Weights &weights() const { return weights_; }
    unsigned heads() const { return heads_; }
    unsigned copies() const { return copies_; }
    unsigned convolutions() const { return convolutions_; }
    bool centred() const { return centred_; }
    bool two_sided() const { return two_sided_; } // a long convolution among them is

private:
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    unsigned one_of(const std::vector<unsigned> &values) {
        return values[below(static_cast<unsigned>(values.size()))];
    }

    std::vector<double> numbers(size_t elements) {
        std::vector<double> values = ir::random_numbers(elements, static_cast<unsigned>(random_()));
        for (double &value : values) value = static_cast<double>(static_cast<float>(value)); // as packages do
        return values;
    }
    std::string constant(const std::string &shape, std::vector<double> values) {
        const std::string name = fmt::format("{}w{}", name_, weights_.size());
        weights_[name] = std::move(values);
        text_ += fmt::format("%{0} = const \"{0}\" : [{1}]\n", name, shape);
        return name;
    }
    std::string node(const std::string &expression) {
        const std::string name = fmt::format("{}n{}", name_, nodes_++);
        text_ += fmt::format("%{} = {} ; layer {}\n", name, expression, name);
        return name;
    }

    std::string convolution() {
        convolutions_++;
        return copies_ > 1 || below(3) == 2 ? long_convolution() : short_convolution();
    }
    std::string short_convolution() {
        const unsigned dilation = one_of(choices_.dilations), size = one_of(choices_.sizes),
                       reach = dilation * (size - 1) + 1;
        std::vector<double> taps = numbers(size_t{heads_} * reach);
        for (size_t i = 0; i < taps.size(); ++i)
            if (i % reach % dilation) taps[i] = 0;
        const std::string w =
            constant(centred_ ? fmt::format("{},{}", heads_, reach) : fmt::format("{},1,{},1", heads_, reach),
                     std::move(taps));
        const bool bias = below(2) == 0;
        const std::string b = bias ? ", %" + constant(fmt::format("{}", heads_), numbers(heads_)) : "";
        if (centred_) return node(fmt::format("centred_conv(%x, %{}{}) {{bias={:d}}}", w, b, bias));
        return node(
            fmt::format("conv2d(%x, %{}{}) {{stride_t=1, stride_f=1, groups={}, bias={:d}, frequency=0}}", w,
                        b, heads_, bias));
    }
    std::string long_convolution() {
        const bool two_sided = centred_ && below(3) > 0;
        two_sided_ |= two_sided;
        const unsigned rows = two_sided ? 2 * copies_ : copies_, taps = one_of(choices_.taps);
        const std::string k = constant(fmt::format("{},{},{}", rows, heads_, taps),
                                       numbers(size_t{rows} * heads_ * taps)),
                          d = constant(fmt::format("{},{}", copies_, heads_),
                                       numbers(size_t{copies_} * heads_));
        return node(
            fmt::format("long_conv(%x, %{}, %{}) {{channels={}, two_sided={:d}}}", k, d, copies_, two_sided));
    }

    std::string norm(const std::string &value) {
        const size_t width = size_t{heads_} * copies_;
        const std::string shape = fmt::format("{}", width);
        std::vector<double> a = numbers(width), b = numbers(width);
        if (below(2) == 0)
            return node(fmt::format("affine(%{}, %{}, %{})", value, constant(shape, a), constant(shape, b)));
        std::vector<double> m = numbers(width), v = numbers(width);
        for (double &variance : v) variance = 0.5 + std::abs(variance);
        if (!choices_.norms_as_affine)
            return node(fmt::format("batch_norm(%{}, %{}, %{}, %{}, %{}) {{eps=1e-5}}", value,
                                    constant(shape, a), constant(shape, b), constant(shape, m),
                                    constant(shape, v)));
        for (size_t i = 0; i < width; ++i) {
            a[i] /= std::sqrt(v[i] + 1e-5);
            b[i] -= a[i] * m[i];
        }
        return node(fmt::format("affine(%{}, %{}, %{})", value, constant(shape, a), constant(shape, b)));
    }
    void add(const std::string &term) {
        sum_ = sum_.empty() ? term : node(fmt::format("add(%{}, %{})", sum_, term));
    }

    std::mt19937 random_;
    std::string name_;
    BranchChoices choices_;
    unsigned heads_, copies_, nodes_ = 0, convolutions_ = 0;
    bool centred_, two_sided_ = false;
    std::string text_, sum_;
    ir::Weights weights_;
};

} // namespace longwave::test
