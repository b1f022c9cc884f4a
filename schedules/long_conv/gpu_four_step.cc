// four_step_columns, four_step_rows, four_step_columns_back: a long convolution of more rows than a
// workgroup has points, as the transform of a matrix whose points stay in registers
// (gpu/four_step.h). This file declares the arguments and hands over the epilogue.
//
// Beside u and y, points between dispatches move 32 bytes per sample with one copy. Columns lie side
// by side in memory, so every request takes whole sectors. Columns of 16 points need no shared
// memory.
#include "schedules/contract/four_step.h"
#include "schedules/contract/kernels/long_conv_gpu.h"
#include "schedules/gpu/four_step.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/written_epilogue.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct FourStepKernel {
    template <class K> FourStepKernel(const KernelBuilder &k, const K &p, int of_rows)
        : length(p.length), channels(p.channels), row(static_cast<int>(pad(extent(channels)))),
          rows(of_rows) {
        const int copies = p.copies;
        sizes = {.rows = extent(rows), .row = extent(row), .copies = extent(copies)};
        const auto found =
            four_step_form(extent(length), extent(row == 1 ? copies : row), limits_of(k.target));
        k.params.require(found.has_value(),
                         "'length' must be 1, 3, 5 or 15 times a power of two whose matrix fits " +
                             k.target.name);
        k.params.require(rows <= length, "'rows' must not exceed length");
        k.params.require(int64_t{row} * copies * length < int64_t{1} << 29,
                         "the points of all channels must be less than 2^29");
        form = *found;
    }
    int copies() const { return static_cast<int>(sizes.copies); }
    Shape points(int of_copies) const { return dense({row, of_copies, length, 2}); }
    void roots(KernelBuilder &k, const contract::Names::Weight &name) const {
        k.weight(name, dense({4, static_cast<int>(zeros_of_roots(form.radices())) + 1}));
    }
    // The type of an output: the kernel that is written out computes the values.
    static void output(KernelBuilder &k, const contract::Names::Output &name, const Shape &shape) {
        std::vector<Var> at;
        for (size_t d = 0; d < shape.size(); d++) at.emplace_back("d" + std::to_string(d));
        Func made(name.text);
        made(at) = 0.0f;
        k.output(made, name, shape);
    }

    int length, channels, row, rows;
    gpu::FourStepSizes sizes;
    FourStepForm form;
};

// Half of the shared memory for more barriers: a device may then run more workgroups at once.
void choose_planes(KernelBuilder &k, RegisterForm &form) {
    if (form.radices.size() > 1 && k.variant(form.planes) == 1) form.planes = 1;
}

void build_four_step_columns(KernelBuilder &k, const contract::FourStepColumns &p) {
    FourStepKernel kernel(k, p, p.rows);
    const auto a = contract::names_of<contract::FourStepColumns>();
    choose_planes(k, kernel.form.columns);
    k.no_epilogue();
    k.input(a.u, dense({kernel.row, kernel.rows}));
    kernel.roots(k, a.roots);
    FourStepKernel::output(k, a.points, kernel.points(1));
    k.written = [kernel] { return gpu::four_step_columns(kernel.form, kernel.sizes); };
}

void build_four_step_rows(KernelBuilder &k, const contract::FourStepRows &p) {
    FourStepKernel kernel(k, p, p.length);
    const auto a = contract::names_of<contract::FourStepRows>();
    const bool made = p.adaptive;
    k.params.require(!made || p.scale > 0, "'scale' must be positive");
    if (made) kernel.sizes.scale_of_made = p.scale;
    choose_planes(k, kernel.form.rows);
    k.no_epilogue();
    k.input(a.points, kernel.points(1));
    if (made) k.input(a.made, kernel.points(1));
    const RegisterForm &rows = kernel.form.rows;
    const int lanes = kernel.row == 1 ? kernel.copies() : kernel.row;
    k.weight(a.spectrum,
             dense({4, static_cast<int>(rows.threads()),
                    static_cast<int>(rows.slots(rows.last_pass()) / 2 * kernel.form.columns.length),
                    kernel.row == 1 ? 1 : kernel.copies(), lanes / static_cast<int>(rows.lanes)}));
    kernel.roots(k, a.roots);
    FourStepKernel::output(k, a.products, kernel.points(kernel.copies()));
    k.written = [kernel] { return gpu::four_step_rows(kernel.form, kernel.sizes); };
}

void build_four_step_columns_back(KernelBuilder &k, const contract::FourStepColumnsBack &p) {
    FourStepKernel kernel(k, p, p.rows);
    const auto a = contract::names_of<contract::FourStepColumnsBack>();
    kernel.sizes.circular = p.circular;
    choose_planes(k, kernel.form.columns);
    k.params.require(!kernel.sizes.circular || kernel.rows == kernel.length,
                     "a circular convolution has as many rows as points");
    k.input(a.products, kernel.points(kernel.copies()));
    kernel.roots(k, a.roots);
    const Shape y_shape = dense({kernel.row, kernel.copies(), kernel.rows});
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, kernel.channels);
    FourStepKernel::output(k, a.y, y_shape);
    k.written = [&k, kernel, epilogue, y_shape] {
        const gpu::DeclareFinish finish = [&](gpu::Program &program) -> gpu::Finish {
            const WrittenEpilogue finished = declare_epilogue(program, k, epilogue, y_shape);
            return [finished](const gpu::Float &sum, const gpu::ResultPlace &at) {
                return finished(sum, {at.channel, at.copy, at.row});
            };
        };
        return gpu::four_step_columns_back(kernel.form, kernel.sizes, finish);
    };
}

const GpuSchedule<contract::FourStepColumns> four_step_columns{build_four_step_columns,
                                                               Fp16::inputs_and_outputs};
const GpuSchedule<contract::FourStepRows> four_step_rows{build_four_step_rows, Fp16::inputs_and_outputs};
const GpuSchedule<contract::FourStepColumnsBack> four_step_columns_back{build_four_step_columns_back,
                                                                        Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
