// active_clusters: 1 for each class whose logit is at most a margin below that of the likeliest
// word, else 0; all 1 with the largest margin.
#include "schedules/contract/kernels/linear.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_active_clusters(KernelBuilder &k, const contract::ActiveClusters &p) {
    const auto a = contract::names_of<contract::ActiveClusters>();
    const int words = p.words, classes = p.classes;
    const int width = static_cast<int>(pad(extent(words))), tails = static_cast<int>(pad(extent(classes)));
    ImageParam x = k.input(a.words, dense({width, 1})), of_class = k.input(a.classes, dense({tails, 1})),
               margin = k.input(a.margin, dense({tails, 1}));
    k.no_epilogue();

    // THE ALGORITHM
    const int vec = dividing_vector(width, k.target.vector_lanes);
    Var c("c"), r("r"), l("l");
    RDom i(0, width / vec, "i"), f(0, vec, "f");
    Func peaks("peaks"), peak("peak"), y("wanted");
    const Expr valid = words == width ? always() : Expr(i * vec + l < words);
    peaks(l) = -3.0e38f;
    peaks(l) = max(peaks(l), select(valid, x(i * vec + l, 0), -3.0e38f));
    peak() = -3.0e38f;
    peak() = max(peak(), peaks(f));
    // An infinity is none that a row may have: its row is computed, and found to be not finite. So
    // is NaN.
    const Expr below = peak() - of_class(c, r), most = margin(c, r),
               far = most < static_cast<float>(p.every) && below > most;
    y(c, r) = select(c >= classes, 0.0f, far && below < 3.0e38f, 0.0f, 1.0f);

    // THE SCHEDULE
    peak.compute_root().update().unroll(f);
    peaks.compute_at(peak, Var::outermost()).vectorize(l);
    peaks.update().reorder(l, i).vectorize(l);
    k.output(y, a.wanted, dense({tails, 1}));
}

static const Kernel<contract::ActiveClusters> active_clusters{build_active_clusters};

} // namespace longwave::schedules
