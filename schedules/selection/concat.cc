// concat: rows of up to 16 inputs beside each other.
#include "schedules/contract/kernels/selection.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Concat {
    const contract::Concat::Arguments<contract::Names> a = contract::names_of<contract::Concat>();
    struct Part {
        int first, width;
        ImageParam x;
    };
    std::vector<Part> parts;
    int total = 0, width = 0, rows;
    Var i{"i"}, r{"r"};
    Func y{"y"};

    Concat(KernelBuilder &k, const contract::Concat &params) : rows(params.rows) {
        k.params.require(params.parts.size() >= 2, "at least two 'parts' are needed");
        for (size_t n = 0; n < params.parts.size(); n++) {
            const int wide = params.parts[n];
            parts.push_back(
                {total, wide, k.input(a.part[n], dense({static_cast<int>(pad(extent(wide))), rows}))});
            total += wide;
            k.params.require(total <= 1 << 24, "the joined row is too wide");
        }
        width = static_cast<int>(pad(extent(total)));
        k.no_epilogue();
    }
};

// A copy for each part, at any lane of the result.
void concat_on_cpu(KernelBuilder &k, const contract::Concat &params) {
    Concat p(k, params);

    // THE ALGORITHM
    p.y(p.i, p.r) = undef<float>();
    std::vector<RDom> lanes;
    for (const Concat::Part &part : p.parts) {
        lanes.emplace_back(0, part.width, "c");
        p.y(part.first + lanes.back(), p.r) = part.x(lanes.back(), p.r);
    }
    if (p.width > p.total) {
        RDom c(p.total, p.width - p.total, "padding");
        p.y(c, p.r) = 0.0f;
    }

    // THE SCHEDULE
    for (size_t n = 0; n < p.parts.size(); n++) {
        Stage copy = p.y.update(static_cast<int>(n));
        if (p.parts[n].width < k.target.vector_lanes) copy.unscheduled();
        else // each lane is written once
            copy.allow_race_conditions().vectorize(lanes[n].x, k.target.vector_lanes,
                                                   TailStrategy::GuardWithIf);
    }
    if (p.width > p.total) p.y.update(static_cast<int>(p.parts.size())).unscheduled();
    k.output(p.y, p.a.y, dense({p.width, p.rows}));
}

void concat_on_gpu(KernelBuilder &k, const contract::Concat &params) {
    Concat p(k, params);

    // THE ALGORITHM
    Expr value = 0.0f;
    for (auto part = p.parts.rbegin(); part != p.parts.rend(); ++part)
        value = select(p.i < part->first + part->width,
                       part->x(clamp(p.i - part->first, 0, part->width - 1), p.r), value);
    p.y(p.i, p.r) = select(p.i < p.total, value, 0.0f);

    // THE SCHEDULE
    spread(p.y, {p.i, p.r}, {p.width, p.rows});
    k.output(p.y, p.a.y, dense({p.width, p.rows}));
}

const Kernel<contract::Concat> concat{concat_on_cpu, concat_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
