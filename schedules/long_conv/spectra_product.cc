#include "schedules/long_conv/spectra_product.h"
#include "schedules/transforms/butterfly.h"

namespace longwave::schedules {

using namespace Halide;

Func product_of_spectra(const SpectraProduct &s, const Func &newest) {
    Var v("v"), part("part"), p("p"), m("m"), po("po"), pi("pi");
    Func sum("sum"), z("z");
    const int share =
        divisor_at_most(s.positions, std::max(1, 4 * s.vec / s.tile)); // whose sums are under way together
    const auto kernel = [&](const Expr &q) {
        return Complex{s.spectrum(v, 0, q, p, m), s.spectrum(v, 1, q, p, m)};
    };
    const int begin = newest.defined() ? 1 : 0;
    if (newest.defined()) {
        const Complex x = {newest(v, 0, p), newest(v, 1, p)}, h = kernel(0);
        sum(v, p, m) = Tuple(x.re * h.re - x.im * h.im, x.re * h.im + x.im * h.re);
    } else {
        sum(v, p, m) = Tuple(0.0f, 0.0f);
    }
    if (s.partitions > begin) {
        RDom q(begin, s.partitions - begin, "q");
        const Expr at = wrapped(s.slot - q, s.partitions);
        const Complex x = {s.past(v, 0, at, p), s.past(v, 1, at, p)}, h = kernel(q);
        sum(v, p, m) =
            Tuple(sum(v, p, m)[0] + x.re * h.re - x.im * h.im, sum(v, p, m)[1] + x.re * h.im + x.im * h.re);
        sum.update().reorder(v, p, q, m).vectorize(v, s.vec).unroll(v).unroll(p);
    }
    z(v, part, p, m) = select(part == 0, sum(v, p, m)[0], sum(v, p, m)[1]);
    z.bound(part, 0, 2).split(p, po, pi, share).reorder(v, part, pi, po, m);
    z.vectorize(v, s.vec).unroll(v).unroll(part).unroll(pi);
    sum.compute_at(z, po).bound_extent(v, s.tile).bound_extent(p, share);
    sum.vectorize(v, s.vec).unroll(v).unroll(p);
    return z;
}

Func product_of_spectra_ahead(const SpectraProduct &s, int blocks) {
    Var v("v"), part("part"), p("p"), m("m"), po("po"), pi("pi"), vo("vo"), vi("vi");
    Func sum("sum"), z("z");
    const auto product = [&](const RVar &q, int g) {
        const Expr at = wrapped(s.slot - q, s.partitions);
        return Complex{s.past(v, 0, at, p), s.past(v, 1, at, p)} *
               Complex{s.spectrum(v, 0, q + g, p, m), s.spectrum(v, 1, q + g, p, m)};
    };
    // As many registers of sums as a target has to spare; their positions are under way together.
    const int share = divisor_at_most(s.positions, std::max(1, s.vec / (2 * blocks)));
    const auto schedule = [&](Stage stage) { stage.vectorize(v, s.vec).unroll(p); };
    sum(v, p, m) = Tuple(std::vector<Expr>(2 * static_cast<size_t>(blocks), 0.0f));
    schedule(sum);
    // First the partitions whose products all blocks want, then the others, each wanted by one
    // block less.
    for (int wanted = blocks, begin = 0; wanted > 0; wanted--) {
        const int end = s.partitions - wanted + 1;
        RDom q(begin, end - begin, "q");
        std::vector<Expr> next;
        next.reserve(2 * static_cast<size_t>(blocks));
        for (int g = 0; g < blocks; g++) {
            const Complex term = g < wanted ? product(q, g) : Complex{0.0f, 0.0f};
            next.push_back(sum(v, p, m)[2 * g] + term.re);
            next.push_back(sum(v, p, m)[2 * g + 1] + term.im);
        }
        sum(v, p, m) = Tuple(next);
        schedule(sum.update(blocks - wanted).reorder(v, p, q, m));
        begin = end;
    }
    std::vector<Expr> parts;
    parts.reserve(static_cast<size_t>(blocks));
    for (int g = 0; g < blocks; g++)
        parts.push_back(select(part == 0, sum(v, p, m)[2 * g], sum(v, p, m)[2 * g + 1]));
    z(v, part, p, m) = Tuple(parts);
    z.bound(part, 0, 2).split(p, po, pi, share).split(v, vo, vi, s.vec).reorder(vi, part, pi, vo, po, m);
    z.vectorize(vi).unroll(part).unroll(pi);
    sum.compute_at(z, vo).bound_extent(v, s.vec).bound_extent(p, share);
    return z;
}

} // namespace longwave::schedules
