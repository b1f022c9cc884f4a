// four_step_columns, four_step_rows, four_step_columns_back: a long convolution of more rows than a
// workgroup has points, as the transform of a matrix whose points stay in registers
// (spirv/four_step.h). This file declares the arguments and hands over the epilogue.
//
// Beside u and y, points between dispatches move 32 bytes per sample with one copy. Columns lie side
// by side in memory, so every request takes whole sectors. Columns of 16 points need no shared
// memory.
#include "schedules/contract/four_step.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/written_epilogue.h"
#include "schedules/spirv/four_step.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct FourStepKernel {
    FourStepKernel(KernelBuilder &k, const char *with_rows)
        : length(k.params.integer("length", 4, 1 << 22)), channels(k.params.integer("channels", 1, 1 << 20)),
          row(static_cast<int>(pad(extent(channels)))),
          rows(with_rows ? k.params.integer(with_rows, 1, 1 << 22) : length) {
        const int copies = k.params.integer_or("copies", 1, 1, 64);
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
    void roots(KernelBuilder &k) const {
        k.weight("roots", dense({4, static_cast<int>(zeros_of_roots(form.radices())) + 1}));
    }
    // The type of an output: the kernel that is written out computes the values.
    static Func output(const char *name, int dimensions) {
        std::vector<Var> at;
        for (int d = 0; d < dimensions; d++) at.emplace_back("d" + std::to_string(d));
        Func made(name);
        made(at) = 0.0f;
        return made;
    }

    int length, channels, row, rows;
    gpu::FourStepSizes sizes;
    FourStepForm form;
};

// Half of the shared memory for more barriers: a device may then run more workgroups at once.
void choose_planes(KernelBuilder &k, RegisterForm &form) {
    if (form.radices.size() > 1 && k.variant(form.planes) == 1) form.planes = 1;
}

void build_four_step_columns(KernelBuilder &k) {
    FourStepKernel kernel(k, "rows");
    choose_planes(k, kernel.form.columns);
    k.no_epilogue();
    k.input("u", dense({kernel.row, kernel.rows}));
    kernel.roots(k);
    k.output(FourStepKernel::output("points", 4), kernel.points(1));
    k.written = [kernel] { return gpu::four_step_columns(kernel.form, kernel.sizes); };
}

void build_four_step_rows(KernelBuilder &k) {
    FourStepKernel kernel(k, nullptr);
    const bool made = k.params.flag_or("adaptive", false);
    if (made) kernel.sizes.scale_of_made = static_cast<float>(k.params.real("scale", 1e-30, 1e30));
    choose_planes(k, kernel.form.rows);
    k.no_epilogue();
    k.input("points", kernel.points(1));
    if (made) k.input("made", kernel.points(1));
    const RegisterForm &rows = kernel.form.rows;
    const int lanes = kernel.row == 1 ? kernel.copies() : kernel.row;
    k.weight("spectrum",
             dense({4, static_cast<int>(rows.threads()),
                    static_cast<int>(rows.slots(rows.last_pass()) / 2 * kernel.form.columns.length),
                    kernel.row == 1 ? 1 : kernel.copies(), lanes / static_cast<int>(rows.lanes)}));
    kernel.roots(k);
    k.output(FourStepKernel::output("products", 4), kernel.points(kernel.copies()));
    k.written = [kernel] { return gpu::four_step_rows(kernel.form, kernel.sizes); };
}

void build_four_step_columns_back(KernelBuilder &k) {
    FourStepKernel kernel(k, "rows");
    kernel.sizes.circular = k.params.flag_or("circular", false);
    choose_planes(k, kernel.form.columns);
    k.params.require(!kernel.sizes.circular || kernel.rows == kernel.length,
                     "a circular convolution has as many rows as points");
    k.input("products", kernel.points(kernel.copies()));
    kernel.roots(k);
    const Shape y_shape = dense({kernel.row, kernel.copies(), kernel.rows});
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, kernel.channels);
    k.output(FourStepKernel::output("y", 3), y_shape);
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

const GpuSchedule four_step_columns{"four_step_columns", build_four_step_columns, Fp16::inputs_and_outputs};
const GpuSchedule four_step_rows{"four_step_rows", build_four_step_rows, Fp16::inputs_and_outputs};
const GpuSchedule four_step_columns_back{"four_step_columns_back", build_four_step_columns_back,
                                         Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
