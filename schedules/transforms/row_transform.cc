#include "schedules/transforms/row_transform.h"

namespace longwave::schedules {

using namespace Halide;

RowTransform::Point RowTransform::read(const Func &f) const {
    return [f, r = r_](const Expr &lane, const Expr &n) {
        const FuncRef value = f(lane, n, r);
        return Complex{value[0], value[1]};
    };
}

// A self-sorting transform along n, one Func (lane, n, r) a pass: pass with `length` points left,
// stride s, reads q + s·(p + m·k) and writes q + s·(R·p + k) for k < R, m = length/R, times
// exp(2πi·p·k/length).
std::vector<Func> RowTransform::passes(Point in, const std::vector<int> &radices, int offset,
                                       const std::string &name) const {
    Var lane("lane"), n("n");
    std::vector<Func> passes;
    int length = 1, stride = 1;
    for (int radix : radices) length *= radix;
    for (int radix : radices) {
        const int m = length / radix;
        RDom d(0, stride, 0, m, name + "_d" + std::to_string(stride));
        std::vector<Complex> x(radix);
        std::vector<Expr> where(radix);
        for (int k = 0; k < radix; k++) {
            x[k] = in(lane, d.x + stride * (d.y + m * k));
            where[k] = d.x + stride * (d.y * radix + k);
        }
        x = dft(x);
        for (int k = 1; k < radix && m > 1; k++) {
            const Expr at = offset + 2 * (d.y * (radix - 1) + k - 1);
            x[k] = x[k] * Complex{table_(at), table_(at + 1)};
        }
        Func pass(name + std::to_string(stride));
        pass(lane, n, r_) = Tuple(undef<float>(), undef<float>());
        pass(lane, scatter(where), r_) = Tuple(gather(real_parts(x)), gather(imaginary_parts(x)));
        pass.update().reorder(lane, d.x, d.y, r_);
        passes.push_back(pass);
        in = read(pass);
        offset += 2 * m * (radix - 1);
        length = m, stride *= radix;
    }
    return passes;
}

RowTransform::RowTransform(int n_fft, const ImageParam &table, const Var &r, const Points &points)
    : shape_(frame_shape(n_fft)), tables_(frame_tables(n_fft)), points_(n_fft / 2), table_(table), r_(r) {
    const Point first = [&](const Expr &lane, const Expr &n) { return points(shape_.columns * n + lane); };
    along_rows_ = passes(first, shape_.row_radices, tables_.rows, "rows");
    const Point twisted = [&](const Expr &k1, const Expr &n2) {
        const Expr entry = n2 * shape_.rows + k1;
        return read(along_rows_.back())(n2, k1) *
               Complex{table_(tables_.between_re + entry), table_(tables_.between_im + entry)};
    };
    along_columns_ = passes(twisted, shape_.column_radices, tables_.columns, "columns");
    const Func &last = along_columns_.back();
    Var i("i");
    order_ = RDom(0, shape_.rows, 0, shape_.columns, "k1");
    spectrum_(i, r) = Tuple(undef<float>(), undef<float>());
    spectrum_(order_.x + shape_.rows * order_.y, r) =
        Tuple(last(order_.x, order_.y, r)[0], last(order_.x, order_.y, r)[1]);
    spectrum_(points_, r) = Tuple(spectrum_(0, r)[0], spectrum_(0, r)[1]);
}

Complex RowTransform::at(const Expr &k) const { return {spectrum_(k, r_)[0], spectrum_(k, r_)[1]}; }

Complex RowTransform::root(const Expr &k) const {
    return {table_(tables_.split_re + k), table_(tables_.split_im + k)};
}

void RowTransform::compute_at(const Func &consumer, int vec) {
    const auto schedule = [&](const std::vector<Func> &passes, int lane_count, int length) {
        for (Func pass : passes) {
            const Var lane_var = pass.args()[0];
            pass.compute_at(consumer, r_)
                .bound_extent(lane_var, lane_count)
                .bound_extent(pass.args()[1], length);
            pass.update().vectorize(lane_var, std::min(vec, lane_count));
            store(pass, int64_t{8} * points_);
        }
    };
    schedule(along_rows_, shape_.columns, shape_.rows);
    schedule(along_columns_, shape_.rows, shape_.columns);
    spectrum_.compute_at(consumer, r_);
    Stage order = spectrum_.update(0).allow_race_conditions();
    order.reorder(order_.x, order_.y, r_).vectorize(order_.x, std::min(vec, shape_.rows));
    spectrum_.update(1).unscheduled();
    store(spectrum_, int64_t{8} * (points_ + 32));
}

} // namespace longwave::schedules
