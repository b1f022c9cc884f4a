// shift: rows of a ring, some rows ago.
#include "schedules/contract/kernels/selection.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Shift {
    const contract::Shift::Arguments<contract::Names> a = contract::names_of<contract::Shift>();
    int row, rows, by, ring;
    ImageParam x;
    Expr position;
    Var i{"i"}, r{"r"};
    Func y{"y"};

    Shift(KernelBuilder &k, const contract::Shift &p) : row(p.row), rows(p.rows), by(p.by), ring(p.ring) {
        k.params.require(ring >= int64_t{rows} + by, "'ring' must hold the new rows and their history");
        x = k.input(a.x, dense({row, ring}));
        position = k.scalar(a.position, ring - rows);
        k.no_epilogue();
    }

    // THE ALGORITHM
    void define() { y(i, r) = x(i, wrapped(position + r - by, ring)); }
};

// Rows of one lane: vectors go along the rows. Those that came in this block never wrap.
void shift_samples(KernelBuilder &k, Shift &s) {
    const int older = std::min(s.by, s.rows);

    // THE ALGORITHM
    s.y(s.i, s.r) = undef<float>();
    std::vector<std::pair<RDom, int>> parts; // with how many rows
    if (older > 0) {
        const RDom n(0, older, "older");
        s.y(0, n) = s.x(0, wrapped(s.position + n - s.by, s.ring));
        parts.emplace_back(n, older);
    }
    if (older < s.rows) {
        const RDom n(0, s.rows - older, "newer");
        s.y(0, s.by + n) = s.x(0, s.position + n);
        parts.emplace_back(n, s.rows - older);
    }

    // THE SCHEDULE
    for (size_t n = 0; n < parts.size(); n++) {
        Stage copy = s.y.update(static_cast<int>(n));
        if (parts[n].second < k.target.vector_lanes) copy.unscheduled();
        else // each row is written once
            copy.allow_race_conditions().vectorize(parts[n].first.x, k.target.vector_lanes,
                                                   TailStrategy::GuardWithIf);
    }
    k.output(s.y, s.a.y, dense({s.row, s.rows}));
}

void shift_on_cpu(KernelBuilder &k, const contract::Shift &params) {
    Shift s(k, params);
    if (s.row == 1 && s.rows > 1) return shift_samples(k, s);
    s.define();
    s.y.vectorize(s.i, dividing_vector(s.row, k.target.vector_lanes));
    k.output(s.y, s.a.y, dense({s.row, s.rows}));
}

void shift_on_gpu(KernelBuilder &k, const contract::Shift &params) {
    Shift s(k, params);
    s.define();
    spread(s.y, {s.i, s.r}, {s.row, s.rows});
    k.output(s.y, s.a.y, dense({s.row, s.rows}));
}

const Kernel<contract::Shift> shift{shift_on_cpu, shift_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
