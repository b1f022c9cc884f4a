#include "schedules/long_conv/transform.h"
#include "schedules/halide/internals.h"
#include <algorithm>

namespace longwave::schedules {

using namespace Halide;

namespace {

const char *const structures_json =
#include "long_conv_structures.inc"
    ;

// Ranges of x in which the same number of points x, x + step, x + 2·step, … lies inside `rows`:
// one, or two when rows ends within a step. None lies inside beyond rows that are fewer than a
// step.
struct PointRange {
    int x_min, x_extent, points;
};
std::vector<PointRange> point_ranges(int rows, int step) {
    const int whole = rows / step, rest = rows - whole * step;
    std::vector<PointRange> ranges;
    if (rest > 0) ranges.push_back({0, rest, whole + 1});
    ranges.push_back({rest, step - rest, whole});
    return ranges;
}

} // namespace

namespace {

// The first row that is long enough, lengths ascending.
TransformStructure structure_of(const KernelBuilder &k, const char *list, int length) {
    const auto has = [&](const nlohmann::json &all) {
        return all.is_object() && all.contains(k.target.name) && all.at(k.target.name).contains(list);
    };
    const nlohmann::json shipped = nlohmann::json::parse(structures_json),
                         &all = has(k.structures) ? k.structures : shipped;
    TransformStructure structure;
    structure.vec = k.target.vector_lanes;
    if (!has(all)) return structure;
    for (const nlohmann::json &row : all.at(k.target.name).at(list)) {
        structure = {.vec = row.at("vec"),
                     .outer = row.at("outer"),
                     .columns = row.value("columns", 0),
                     .chunk = row.value("chunk", 1),
                     .gap = row.value("gap", 0),
                     .fused = row.value("fused", false)};
        if (length <= row.at("up_to").get<int>()) break;
    }
    return structure;
}

} // namespace

TransformStructure transform_structure(const KernelBuilder &k, int length, int tile) {
    TransformStructure structure = structure_of(k, "structures", length);
    structure.vec = std::min(structure.vec, tile);
    return structure;
}

TransformStructure phases_structure(const KernelBuilder &k, int rows) {
    return structure_of(k, "phases", rows);
}

int TransformPasses::leading_levels(int limit, int most) const {
    int count = 1;
    while (count < most && transform_.blocks(count + 1) <= limit) count++;
    return count;
}

void TransformPasses::forward(const Reader &in, const Writer &out, int level, int count, int rows) const {
    pass(Step::forward, in, nullptr, out, level, count, rows);
}
void TransformPasses::inverse(const Reader &in, const Writer &out, int level, int count, int rows) const {
    pass(Step::inverse, in, nullptr, out, level, count, rows);
}
void TransformPasses::middle(const Reader &in, const Reader &spectrum, const Writer &out, int rows) const {
    pass(Step::middle, in, &spectrum, out, levels() - 1, 1, rows);
}

void TransformPasses::pass(Step kind, const Reader &in, const Reader *spectrum, const Writer &out, int level,
                           int count, int rows) const {
    const int size = length(level), points = size / length(level + count), step = size / points,
              blocks = length() / size;
    const bool partial = blocks == 1 && rows < size; // time ends within the transform
    std::vector<PointRange> ranges = {{0, step, points}};
    if (partial && kind == Step::forward) ranges = point_ranges(rows, step);
    if (partial && kind != Step::forward) ranges = {{0, std::min(step, rows), points}};
    for (const PointRange &range : ranges) {
        RDom d(range.x_min, range.x_extent, 0, blocks, fresh_name("pass"));
        const Expr base = blocks == 1 ? Expr(d.x) : d.y * size + d.x;
        const Expr block = blocks == 1 ? Expr(0) : Expr(d.y);
        std::vector<Expr> at(points);
        std::vector<Complex> x(points);
        for (int p = 0; p < points; p++) {
            at[p] = base + p * step;
            const bool zero = kind == Step::middle && partial && p * step >= rows;
            if (p < range.points && !zero) x[p] = in(at[p]);
        }
        if (kind != Step::inverse) transform_.forward(x, level, block);
        if (kind == Step::middle) {
            for (int p = 0; p < points; p++) x[p] = x[p] * (*spectrum)(at[p]);
        }
        if (kind != Step::forward) transform_.inverse(x, level, block);
        if (kind != Step::forward && partial) drop_outside(rows, step, d.x, at, x);
        out(at, x, blocks == 1 ? std::vector<RVar>{d.x} : std::vector<RVar>{d.x, d.y});
    }
}

// A definition cannot store a point for some x only, and two definitions would compute everything
// before them twice. So a point that lies inside for some x goes first and, where it lies outside,
// to the place of its neighbour, which is stored after it.
void drop_outside(int rows, int step, const Expr &first, std::vector<Expr> &at, std::vector<Complex> &x) {
    const int whole = rows / step, rest = rows - whole * step;
    at.resize(whole + (rest > 0));
    x.resize(at.size());
    if (rest == 0 || whole == 0) return;
    at.back() = select(first < rest, at.back(), at[whole - 1]);
    std::rotate(at.begin(), at.end() - 1, at.end());
    std::rotate(x.begin(), x.end() - 1, x.end());
}

Func transform_buffer(const std::string &name, const std::vector<Var> &vars, Type type) {
    Func f(name);
    f(vars) = undef(type);
    return f;
}

Reader read_buffer(Func f, const std::vector<Expr> &rest) {
    return [f, rest](const Expr &position) {
        auto part = [&](int which) {
            std::vector<Expr> at = {f.args()[0], which, position};
            at.insert(at.end(), rest.begin(), rest.end());
            return Expr(f(at));
        };
        return Complex{part(0), part(1)};
    };
}

void define_points(Func f, const std::vector<Expr> &at, const std::vector<Complex> &x) {
    const std::vector<Expr> re = real_parts(x, f.type()), im = imaginary_parts(x, f.type());
    std::vector<Expr> parts, positions, values;
    for (size_t i = 0; i < at.size(); i++) {
        parts.insert(parts.end(), {Expr(0), Expr(1)});
        positions.insert(positions.end(), {at[i], at[i]});
        values.insert(values.end(), {re[i], im[i]});
    }
    const std::vector<Var> vars = f.args();
    std::vector<Expr> where = {vars[0], scatter(parts), scatter(positions)};
    where.insert(where.end(), vars.begin() + 3, vars.end());
    f(where) = gather(values);
}

Writer write_buffer(Func f, int vec) {
    return [f, vec](const std::vector<Expr> &at, const std::vector<Complex> &x,
                    const std::vector<RVar> &loops) mutable {
        define_points(f, at, x);
        const std::vector<Var> vars = f.args();
        std::vector<VarOrRVar> order = {vars[0]};
        order.insert(order.end(), loops.begin(), loops.end());
        order.insert(order.end(), vars.begin() + 3, vars.end());
        f.update(f.num_update_definitions() - 1).reorder(order).vectorize(vars[0], vec);
    };
}

void schedule_output(Func f, int vec, const std::vector<RVar> &loops, const std::vector<Var> &outside,
                     Var vo) {
    Var vi("vi");
    std::vector<VarOrRVar> order = {vi};
    order.insert(order.end(), loops.begin(), loops.end());
    order.push_back(vo);
    order.insert(order.end(), outside.begin(), outside.end());
    f.update(f.num_update_definitions() - 1).split(f.args()[0], vo, vi, vec).reorder(order).vectorize(vi);
}

void define_shorter_rows(Func y, const ShorterRows &s, const Func &c, Var vo,
                         const std::function<Expr(const Expr &value, const std::vector<Expr> &at)> &result) {
    Var v("v"), m("m"), n("n"), vi("vi");
    // Behind the last row the product goes on in the real part, and then in the imaginary part.
    const Expr wraps = n >= s.length - s.rows;
    const Expr at = n + s.rows - select(wraps, Expr(s.length), Expr(0)); // inside; Halide needs the clamp
    const Expr tail = c(v, select(wraps, Expr(1), Expr(0)), clamp(at, 0, s.length - 1), m);
    y(v, m, n) = Tuple(result(c(v, 0, n, m), {v, m, n}), tail);
    y.bound(n, 0, s.rows).split(v, vo, vi, s.vec).reorder(vi, n, vo, m).vectorize(vi);
}

void keep_buffer(Func f, int vec, int positions, Func consumer, Var loop) {
    keep_buffer(f, vec, positions, LoopLevel(consumer, loop));
}

void keep_buffer(Func f, int vec, int positions, const LoopLevel &loop) {
    const std::vector<Var> vars = f.args();
    f.compute_at(loop).bound_extent(vars[0], vec).bound_extent(vars[1], 2).bound_extent(vars[2], positions);
    store(f, int64_t{2} * f.type().bytes() * vec * positions);
}

} // namespace longwave::schedules
