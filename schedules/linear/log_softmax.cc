// log_softmax over a row, or over a head of words and classes and a tail for each class. With
// advice a tail that is not wanted is not read: its words are as unlikely as can be, `never`.
#include "schedules/contract/kernels/linear.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/linear/skip_mask.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr float never = -1e30f; // as lw_logit_bias has it: finite, and below every logarithm

// Rows of `count` words and, for each row, the logarithm of the sum of their exponentials with the
// largest taken out first. Lanes run side by side and are folded at the end; only those below
// `count` take part. Sums are float64: a vocabulary has hundreds of thousands of them.
struct WordRow {
    int count, width;
    ImageParam x;
    Func peaks, peak, sums, sum, log_sum;

    WordRow(KernelBuilder &k, const contract::Names::Input &name, int words, int rows)
        : count(words), width(static_cast<int>(pad(words))), x(k.input(name, dense({width, rows}))),
          peaks(name.text + "_peaks"), peak(name.text + "_peak"), sums(name.text + "_sums"),
          sum(name.text + "_sum"), log_sum(name.text + "_log_sum") {}
    Shape x_shape() const { return dense({width, 1}); } // of one row

    // `classes` join the row; null: there are none. `times`: 0 where nobody wants the row, else 1.
    void define(int vec, const WordRow *classes, const Expr &times) {
        Var l("l"), r("r");
        RDom all_of({{0, width / vec}, {0, times}}, "i"), f(0, vec, "f"),
            again({{0, width / vec}, {0, times}}, "j"), g(0, vec, "g");
        const RVar i = all_of.x, j = again.x;
        const float lowest = -3.0e38f;
        const auto valid = [&](const Expr &lane) { return count == width ? always() : Expr(lane < count); };
        peaks(l, r) = lowest;
        peaks(l, r) = max(peaks(l, r), select(valid(i * vec + l), x(i * vec + l, r), lowest));
        peak(r) = lowest;
        peak(r) = max(peak(r), peaks(f, r));
        Expr top = peak(r);
        for (int n = 0; classes && n < classes->count; ++n) top = max(top, classes->x(n, r));
        sums(l, r) = cast<double>(0);
        sums(l, r) +=
            cast<double>(select(valid(j * vec + l), exp(max(x(j * vec + l, r) - top, -87.0f)), 0.0f));
        sum(r) = cast<double>(0);
        sum(r) += sums(g, r);
        Expr all = cast<float>(sum(r));
        for (int n = 0; classes && n < classes->count; ++n) all += exp(max(classes->x(n, r) - top, -87.0f));
        log_sum(r) = top + logarithm(all);

        log_sum.compute_root();
        for (Func stage : {peaks, sums}) {
            stage.compute_at(log_sum, r).vectorize(l);
            stage.update().reorder(l, stage.rvars()[0], stage.rvars()[1]).vectorize(l);
        }
        for (Func fold : {peak, sum}) fold.compute_at(log_sum, r).update().unroll(fold.rvars()[0]);
    }
};

} // namespace

static void build_log_softmax(KernelBuilder &k, const contract::LogSoftmax &p) {
    const auto a = contract::names_of<contract::LogSoftmax>();
    const int words = p.words, rows = p.rows;
    const std::vector<int> sizes(p.tails.values.begin(), p.tails.values.end());
    k.no_epilogue();
    const int vec = k.target.vector_lanes;
    std::vector<WordRow> groups;
    groups.emplace_back(k, a.words, words, rows);
    if (!sizes.empty()) groups.emplace_back(k, a.classes, static_cast<int>(sizes.size()), rows);
    for (size_t n = 0; n < sizes.size(); ++n) groups.emplace_back(k, a.tail[n], sizes[n], rows);

    const bool advised = p.advised;
    k.params.require(!advised || (rows == 1 && !sizes.empty()), "'advised' is for one row with tails");
    ImageParam advice;
    if (advised) advice = k.input(a.advice, groups[1].x_shape());

    // THE ALGORITHM
    int all = words;
    for (int size : sizes) all += size;
    const int width = static_cast<int>(pad(all));
    Var c("c"), r("r");
    Func y("log_probabilities");
    y(c, r) = advised ? select(c < all, never, 0.0f) : Expr(0.0f); // what the padding has
    int first = 0, updates = 0;
    for (size_t n = 0; n < groups.size(); ++n) {
        if (n == 1) continue; // the classes, part of the head
        WordRow &group = groups[n];
        const int tail = static_cast<int>(n) - 2;
        const Expr times = advised && tail >= 0 ? turns_wanted(advice, tail) : Expr(1);
        group.define(dividing_vector(group.width, vec), n == 0 && groups.size() > 1 ? &groups[1] : nullptr,
                     times);
        RDom w({{0, group.count}, {0, times}}, "w");
        Expr value;
        if (tail < 0) {
            value = group.x(w.x, r) - group.log_sum(r);
        } else {
            const Expr of_class = groups[1].x(tail, r) - groups[0].log_sum(r);
            value = group.x(w.x, r) - (group.log_sum(r) - of_class);
            value = select(value > of_class, of_class, value); // by what was rounded; NaN stays
        }
        y(first + w.x, r) = value;
        store(group.log_sum, int64_t{4} * rows);
        y.update(updates++).reorder(w.x, r, w.y).vectorize(w.x, vec);
        first += group.count;
    }

    // THE SCHEDULE
    y.vectorize(c, dividing_vector(width, vec));
    k.output(y, a.log_probabilities, dense({width, rows}));
}

namespace {

// The same for a workgroup: all of its threads over the words of a row.
struct FoldedRow {
    int count, threads;
    ImageParam x;
    Fold peak, sum;
    Expr log_sum; // of row r

    // `classes`: how many join the row, and their values at a row.
    FoldedRow(KernelBuilder &k, const std::string &name, const ImageParam &words, int count_, const Var &one,
              const Var &r, int classes, const std::function<Expr(int n, const Expr &row)> &of_class)
        : count(count_), threads(std::min(loop_threads(k.target), power_of_two_above(count_))), x(words),
          peak(Fold::largest(
              name + "_peak", {one, r}, count, threads,
              [&](const Expr &lane, const std::vector<Expr> &at) { return Expr(x(lane, at[1])); })),
          sum(Fold::exact_sum(k, name + "_sum", {one, r}, count, threads,
                              [&](const Expr &lane, const std::vector<Expr> &at) {
                                  return exp(max(x(lane, at[1]) - top(at[1], classes, of_class), -87.0f));
                              })) {
        const Expr highest = top(r, classes, of_class);
        Expr all = sum({0, r});
        for (int n = 0; n < classes; ++n) all += exp(max(of_class(n, r) - highest, -87.0f));
        log_sum = highest + logarithm(all);
    }

private:
    Expr top(const Expr &row, int classes,
             const std::function<Expr(int n, const Expr &row)> &of_class) const {
        Expr value = peak({0, row});
        for (int n = 0; n < classes; ++n) value = max(value, of_class(n, row));
        return value;
    }
};

} // namespace

static void build_log_softmax_on_gpu(KernelBuilder &k, const contract::LogSoftmax &p) {
    const auto a = contract::names_of<contract::LogSoftmax>();
    const int words = p.words, rows = p.rows;
    const std::vector<int> sizes(p.tails.values.begin(), p.tails.values.end());
    k.params.require(!p.advised, "'advised' is for processors");
    k.no_epilogue();
    const int classes = static_cast<int>(sizes.size());
    const auto argument = [&](const contract::Names::Input &name, int count) {
        return k.input(name, dense({static_cast<int>(pad(extent(count))), rows}));
    };
    const ImageParam head = argument(a.words, words);
    ImageParam of_classes;
    if (classes) of_classes = argument(a.classes, classes);
    std::vector<ImageParam> tails;
    tails.reserve(sizes.size());
    for (size_t n = 0; n < sizes.size(); ++n) tails.push_back(argument(a.tail[n], sizes[n]));

    // THE ALGORITHM
    Var c("c"), r("r"), one("one");
    const auto of_class = [&](int n, const Expr &row) { return Expr(of_classes(n, row)); };
    std::vector<FoldedRow> groups;
    groups.reserve(tails.size() + 1);
    groups.emplace_back(k, a.words.text, head, words, one, r, classes, of_class);
    for (size_t n = 0; n < sizes.size(); ++n)
        groups.emplace_back(k, a.tail[n].text, tails[n], sizes[n], one, r, 0, of_class);
    Expr value = 0.0f; // what the padding has
    int first = words;
    for (int size : sizes) first += size;
    const int all = first, width = static_cast<int>(pad(extent(all)));
    for (size_t n = groups.size(); n-- > 0;) {
        first -= groups[n].count;
        const Expr word = clamp(c - first, 0, groups[n].count - 1);
        Expr shift = groups[n].log_sum;
        if (n > 0) shift -= of_class(static_cast<int>(n) - 1, r) - groups[0].log_sum;
        value = select(c >= first && c < first + groups[n].count, groups[n].x(word, r) - shift, value);
    }
    Func y("log_probabilities");
    y(c, r) = value;

    // THE SCHEDULE
    Var block("block"), row("row"), lane("lane"), of_lane("of_lane");
    y.split(r, block, row, 1)
        .split(c, of_lane, lane, std::min(loop_threads(k.target), power_of_two_above(all)),
               TailStrategy::GuardWithIf)
        .reorder(of_lane, lane, row, block)
        .gpu_threads(lane, row);
    blocks_along(y, block, rows, k);
    for (FoldedRow &group : groups) {
        group.peak.compute_at(y, block, {1}, 1);
        group.sum.compute_at(y, block, {1}, 1);
    }
    k.output(y, a.log_probabilities, dense({width, rows}));
}

static const Kernel<contract::LogSoftmax> log_softmax{build_log_softmax, build_log_softmax_on_gpu,
                                                      Fp16::none};

} // namespace longwave::schedules
