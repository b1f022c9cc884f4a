#include "schedules/transforms/polyphase.h"
#include "schedules/halide/internals.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int radix = 4;

std::vector<Expr> registers(const Expr &lane) {
    std::vector<Expr> at;
    for (int i = 0; i < radix; i++) at.push_back(Polyphase::phases * i + lane);
    return at;
}
std::vector<Expr> between(const Expr &lane) {
    std::vector<Expr> at;
    for (int i = 0; i < radix; i++) at.push_back(radix * lane + i);
    return at;
}
std::vector<Complex> read(const Polyphase::Values &values, const std::vector<Expr> &at) {
    std::vector<Complex> x;
    for (const Expr &value : at) x.push_back(values(value));
    return x;
}

} // namespace

Polyphase::Polyphase(RightAngle rows, Type type, std::function<Expr(const Expr &)> table, bool vectors)
    : rows_(std::move(rows)), last_(static_cast<int>(rows_.radices().size()) - 1),
      groups_(rows_.blocks(last_)), type_(type), vectors_(vectors), table_(std::move(table)) {}

// Stores that interleave have to be those of one part alone to be seen as such; others share more
// of their arithmetic when both parts are one definition.
Polyphase::Step Polyphase::step(const char *name, const Group &group, bool parts,
                                const std::function<Registers(const Expr &lane)> &body) const {
    Func f(name);
    const Var e("e"), part("part");
    std::vector<Var> vars = {e};
    if (parts) vars.push_back(part);
    vars.push_back(group.g);
    vars.insert(vars.end(), group.rest.begin(), group.rest.end());
    const RDom lane(0, phases, fresh_name("lane"));
    const Registers registers = body(lane.x);
    std::vector<VarOrRVar> order = {lane.x};
    order.insert(order.end(), vars.begin() + (parts ? 2 : 1), vars.end());
    if (parts) {
        f(vars) = undef(type_);
        const std::vector<Expr> re = real_parts(registers.x, type_), im = imaginary_parts(registers.x, type_);
        std::vector<Expr> at = registers.at, which(radix, 0), stored = re, where(vars.begin(), vars.end());
        at.insert(at.end(), registers.at.begin(), registers.at.end());
        which.insert(which.end(), radix, 1);
        stored.insert(stored.end(), im.begin(), im.end());
        where[0] = scatter(at), where[1] = scatter(which);
        f(where) = gather(stored);
        f.bound_extent(part, 2);
    } else {
        f(vars) = Tuple(undef(type_), undef(type_));
        std::vector<Expr> where(vars.begin(), vars.end());
        where[0] = scatter(registers.at);
        f(where) = Tuple(gather(real_parts(registers.x, type_)), gather(imaginary_parts(registers.x, type_)));
    }
    f.update().reorder(order).allow_race_conditions();
    if (vectors_) f.update().vectorize(lane.x);
    f.bound_extent(e, values);
    return {f, parts};
}

Polyphase::Values Polyphase::Step::values(std::vector<Expr> at) const {
    const std::vector<Var> vars = f.args();
    if (at.empty()) at.assign(vars.begin() + (parts ? 2 : 1), vars.end());
    return [f = f, parts = parts, at](const Expr &value) {
        std::vector<Expr> where = {value};
        if (parts) where.emplace_back(0);
        where.insert(where.end(), at.begin(), at.end());
        if (!parts) {
            const FuncRef pair = f(where);
            return Complex{pair[0], pair[1]};
        }
        const Expr re = f(where);
        where[1] = 1;
        return Complex{re, f(where)};
    };
}

// The butterfly of one of the two levels with the twiddles of a lane's block.
RightAngle Polyphase::inner(const Group &group, int level, const Expr &lane) const {
    const PolyphaseTables tables = polyphase_tables(static_cast<uint32_t>(groups_ * values));
    const int blocks = level == 0 ? radix : phases;
    return rows_.with_twiddles([=, this](int power) {
        const Expr at = (level == 0 ? tables.first : tables.second) +
                        group.index * (2 * (radix - 1) * blocks) + 2 * (power - 1) * blocks +
                        (level == 0 ? lane % radix : lane);
        return Complex{table_(at), table_(at + blocks)};
    });
}

Polyphase::Step Polyphase::interleaved(const Group &group, const Blocks &blocks) const {
    return step("interleaved", group, false, [&](const Expr &lane) -> Registers {
        std::vector<Complex> x = blocks(lane);
        rows_.forward(x, last_, group.index);
        return {x, between(lane)};
    });
}

Polyphase::Step Polyphase::halfway(const Group &group, const Values &interleaved) const {
    return step("halfway", group, false, [&](const Expr &lane) -> Registers {
        std::vector<Complex> x = read(interleaved, registers(lane));
        inner(group, 0, lane).forward(x, last_, 0);
        return {x, between(lane)};
    });
}

Polyphase::Step Polyphase::spectrum(const Group &group, const Values &halfway) const {
    return step("spectrum_of_u", group, true, [&](const Expr &lane) -> Registers {
        std::vector<Complex> x = read(halfway, registers(lane));
        inner(group, 1, lane).forward(x, last_, 0);
        return {x, registers(lane)};
    });
}

Polyphase::Step Polyphase::product(const Group &group, const Values &halfway, const Values &kernel) const {
    return step("product", group, true, [&](const Expr &lane) -> Registers {
        const std::vector<Expr> at = registers(lane);
        std::vector<Complex> x = read(halfway, at);
        const RightAngle level = inner(group, 1, lane);
        level.forward(x, last_, 0);
        for (int i = 0; i < radix; i++) x[i] = x[i] * kernel(at[i]);
        level.inverse(x, last_, 0);
        return {x, at};
    });
}

Polyphase::Step Polyphase::product_of(const Group &group, const Values &spectrum,
                                      const Values &kernel) const {
    return step("product", group, true, [&](const Expr &lane) -> Registers {
        const std::vector<Expr> at = registers(lane);
        std::vector<Complex> x = read(spectrum, at);
        for (int i = 0; i < radix; i++) x[i] = x[i] * kernel(at[i]);
        inner(group, 1, lane).inverse(x, last_, 0);
        return {x, at};
    });
}

Polyphase::Step Polyphase::transposed(const Group &group, const Values &interleaved) const {
    return step("transposed", group, true, [&](const Expr &lane) -> Registers {
        return {read(interleaved, between(lane)), registers(lane)};
    });
}

Polyphase::Step Polyphase::phases_of(const Group &group, const Values &transposed) const {
    return step("phases", group, true, [&](const Expr &lane) -> Registers {
        std::vector<Complex> x = read(transposed, registers(lane));
        inner(group, 0, lane).inverse(x, last_, 0);
        return {x, registers(lane)};
    });
}

} // namespace longwave::schedules
