// long_conv_dyadic: causal convolution of a stream with a multi-scale kernel, by its scales instead
// of its taps (contract/dyadic_plan.h): flat cost, no delay, any block. For few channels and short blocks.
#include "schedules/contract/dyadic_plan.h"
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

class Dyadic {
public:
    Dyadic(KernelBuilder &builder, const contract::LongConvDyadic &params);
    void build();

private:
    const DyadicRing &ring(int which) const { return plan_.rings[static_cast<size_t>(which)]; }
    // Slot of row 0 of this call within its ring.
    Expr newest(int which) const {
        return cast<int>(cast<uint32_t>(position_) % cast<uint32_t>(ring(which).length));
    }
    // The same `lag` rows ago, among all slots; the rows after it follow.
    Expr slot(int which, const Expr &lag) const {
        return ring(which).offset + wrapped(newest(which) - lag, ring(which).length);
    }
    void write(const std::vector<DyadicWrite> &step);
    void repeat(int which);
    void find_slots();
    Expr product(const Expr &i) const;
    Func total();
    void write_tiles(Func y, Func sum);
    void write_planes(Func y, Func sum);

    KernelBuilder &k_;
    const contract::LongConvDyadic::Arguments<contract::Names> a_ =
        contract::names_of<contract::LongConvDyadic>();
    const int channels_, copies_, rows_, width_, lanes_, planes_;
    DyadicPlan plan_;
    int products_ = 0;
    ImageParam u_, weights_;
    Expr position_;
    KernelBuilder::Epilogue epilogue_;
    Func rings_{"rings"}, slots_{"slots"}, acc_{"acc"};
    Var c{"c"}, n{"n"}, b{"b"}, i{"i"}, m{"m"}, r{"r"}, p{"p"}, ro{"ro"}, ri{"ri"}, co{"co"}, ci{"ci"};
    // Lanes of a vector are channels, or rows where a slot is one lane. Sums of `tile_` rows are
    // under way together, each in `parts_`, so that one addition need not wait for the one before.
    int vec_ = 1, tile_ = 1, parts_ = 1;
};

DyadicShape shape_of(const KernelBuilder &k, const contract::LongConvDyadic &p) {
    static_assert(decltype(p.rows)::high == dyadic_rows && decltype(p.taps)::high == dyadic_most_taps &&
                  decltype(p.init_scale)::high == dyadic_most_init_scale &&
                  decltype(p.period)::high == dyadic_most_period);
    k.params.require(p.direct <= p.taps, "'direct' must be at most 'taps'");
    return {.kernel_dim = p.kernel_dim,
            .scales = p.scales,
            .init_scale = p.init_scale,
            .nearest = p.nearest,
            .taps = p.taps,
            .direct = p.direct};
}

Dyadic::Dyadic(KernelBuilder &k, const contract::LongConvDyadic &params)
    : k_(k), channels_(params.channels), copies_(params.copies), rows_(params.rows),
      width_(static_cast<int>(pad(static_cast<uint32_t>(channels_)))), lanes_(dyadic_lanes(channels_)),
      planes_(dyadic_planes(channels_)), plan_(dyadic_plan(shape_of(k, params), rows_)) {
    k.params.require(plan_.slots * lanes_ * planes_ <= dyadic_most_floats,
                     "the state would have more than 2^28 elements");
    const int period = params.period;
    k.params.require(period % plan_.period == 0 && period % rows_ == 0,
                     "'period' must be a multiple of the rings' lengths and of 'rows'");
    products_ = static_cast<int>(plan_.products());
    u_ = k.input(a_.u, {{extent(lanes_), 1}, {extent(rows_), width_}, {extent(planes_), lanes_}});
    weights_ = k.weight(a_.w, dense({lanes_, products_, copies_, planes_}));
    epilogue_ = k.epilogue(dense({width_, copies_, rows_}), channels_);
    position_ = k.scalar(a_.position, period - rows_, rows_);

    constexpr int sums = 8;
    while (vec_ < k.target.vector_lanes && vec_ < (lanes_ == 1 ? rows_ : lanes_)) vec_ *= 2;
    const int vectors = lanes_ == 1 ? (rows_ + vec_ - 1) / vec_ : lanes_ / vec_; // of all rows, or of one
    tile_ = lanes_ == 1 ? vec_ * divisor_at_most(vectors, sums) : divisor_at_most(rows_, sums / vectors);
    while (parts_ < 4 && 2 * parts_ * tile_ * lanes_ <= sums * vec_) parts_ *= 2;
}

// All rings of a step at once; rows in vectors of what divides them, as nothing but this call's
// rows may be written.
void Dyadic::write(const std::vector<DyadicWrite> &step) {
    RDom t(0, rows_, fresh_name("t"));
    std::vector<Expr> slots, values;
    for (const DyadicWrite &one : step) {
        Expr sum;
        for (const DyadicRead &read : one.sum) {
            const Expr row = rings_(c, slot(read.ring, read.lag) + t, b);
            const Expr value = read.factor == 1 ? row : read.factor * row;
            sum = sum.defined() ? strict_float(sum + value) : value;
        }
        values.push_back(sum.defined() ? sum : u_(c, t, b));
        slots.push_back(slot(one.ring, 0) + t);
    }
    rings_(c, scatter(slots), b) = gather(values);
    Stage update = rings_.update(rings_.num_update_definitions() - 1);
    update.reorder(c, t, b);
    if (lanes_ == 1) {
        update.allow_race_conditions().vectorize(t, dividing_vector(rows_, vec_));
    } else {
        update.vectorize(c, vec_).unroll(c);
    }
    if (rows_ == 1) return; // one row lies in one piece anyway
    for (const DyadicWrite &one : step) repeat(one.ring);
}

// The first slots of a ring and those behind its end are the same rows: what this call wrote into
// some goes to the others.
void Dyadic::repeat(int which) {
    const int offset = ring(which).offset, length = ring(which).length;
    const Expr at = newest(which);
    const Expr first = at < dyadic_rows; // then it cannot reach the end: a ring is longer than two calls
    const Expr count = select(first, min(dyadic_rows - at, rows_), max(at + rows_ - length, 0));
    RDom x(0, count, fresh_name("x"));
    const Expr from = offset + select(first, at, length) + x;
    rings_(c, from + select(first, length, -length), b) = rings_(c, from, b);
    Stage update = rings_.update(rings_.num_update_definitions() - 1);
    update.reorder(c, x, b);
    if (lanes_ > 1) update.vectorize(c, vec_).unroll(c);
}

// Where the rows lie that this call's first row is made of, one slot a product.
void Dyadic::find_slots() {
    slots_(i) = undef<int>();
    int first = 0;
    for (const DyadicTerm &term : plan_.terms) {
        RDom j(0, term.count, fresh_name("j"));
        slots_(first + j) = slot(term.ring, term.lag + j * term.stride);
        Stage update = slots_.update(slots_.num_update_definitions() - 1);
        if (term.count > 1) update.vectorize(j, k_.target.vector_lanes);
        else update.unscheduled();
        first += term.count;
    }
    slots_.compute_root().bound_extent(i, products_);
    store(slots_, int64_t{4} * products_);
}

Expr Dyadic::product(const Expr &which) const {
    const int last = static_cast<int>(plan_.slots) - dyadic_rows - 1; // of the last ring
    const Expr at = unsafe_promise_clamped(slots_(which), 0, last);
    return weights_(c, which, m, b) * rings_(c, at + r, b);
}

Func Dyadic::total() {
    Func sum("sum");
    RDom j(0, products_ / parts_, "j");
    acc_(c, r, p, m, b) = 0.0f;
    if (products_ >= parts_) acc_(c, r, p, m, b) += product(j * parts_ + p);
    Expr value = acc_(c, r, 0, m, b);
    for (int part = 1; part < parts_; part++) value += acc_(c, r, part, m, b);
    for (int rest = products_ / parts_ * parts_; rest < products_; rest++) value += product(rest);
    sum(c, r, m, b) = value;
    const auto schedule = [&](Stage stage) {
        stage.vectorize(lanes_ == 1 ? r : c, vec_).unroll(c).unroll(r).unroll(p);
    };
    acc_.bound_extent(c, lanes_).bound_extent(r, tile_);
    schedule(acc_);
    if (products_ >= parts_) schedule(acc_.update().reorder(c, r, p, j, m, b));
    return sum;
}

void Dyadic::write_tiles(Func y, Func sum) {
    y(c, m, r) = epilogue_(sum(c % lanes_, r, m, c / lanes_), {c, m, r});
    y.split(c, co, ci, lanes_).split(r, ro, ri, tile_).reorder(ci, ri, ro, m, co);
    y.vectorize(ci, vec_).unroll(ci).unroll(ri);
    sum.compute_at(y, ro).bound_extent(c, lanes_).bound_extent(r, tile_);
    sum.vectorize(c, vec_).unroll(c).unroll(r);
    acc_.compute_at(y, ro);
}

void Dyadic::write_planes(Func y, Func sum) {
    // Whole vectors of rows, of which the last may hold more than there are.
    const int rows = (rows_ + vec_ - 1) / vec_ * vec_;
    RDom channel(0, channels_, "channel");
    y(c, m, r) = width_ > channels_ ? Expr(0.0f) : undef<float>();
    if (width_ > channels_) y.vectorize(c, dividing_vector(width_, k_.target.vector_lanes));
    y(channel, m, r) = epilogue_(sum(0, r, m, channel), {channel, m, r});
    Stage update = y.update();
    update.reorder(r, m, channel);
    if (rows_ % vec_ == 0) update.vectorize(r, vec_);
    sum.compute_root().bound_extent(c, 1).bound_extent(r, rows);
    sum.split(r, ro, ri, tile_).reorder(c, ri, ro, m, b).vectorize(ri, vec_).unroll(ri);
    store(sum, int64_t{4} * rows * copies_ * channels_);
    acc_.compute_at(sum, ro);
}

void Dyadic::build() {
    // THE ALGORITHM is that of dyadic_plan.h. Its rings are state, written first and then read for the
    // products.
    rings_(c, n, b) = undef<float>();
    for (const auto &step : plan_.steps) write(step);
    find_slots();
    Func y("y");
    if (lanes_ > 1) write_tiles(y, total());
    else write_planes(y, total());
    k_.output(y, a_.y, dense({width_, copies_, rows_}));
    k_.in_place(rings_, a_.rings, dense({lanes_, static_cast<int>(plan_.slots), planes_}));
}

void build_long_conv_dyadic(KernelBuilder &k, const contract::LongConvDyadic &p) { Dyadic(k, p).build(); }

} // namespace

static const Kernel<contract::LongConvDyadic> long_conv_dyadic{build_long_conv_dyadic};

} // namespace longwave::schedules
