// count_rows: moves a count of rows on, for kernels that only read it (row_count.h).
#include "schedules/halide/registry.h"
#include "schedules/halide/thread_program.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

int rows_of(KernelBuilder &k) {
    const int rows = k.params.integer("rows", 1, 1 << 24);
    k.no_epilogue();
    return rows;
}

void count_rows_on_cpu(KernelBuilder &k) {
    const int rows = rows_of(k);
    Func count("count");
    RDom only(0, 1, "only");
    count(Var()) = undef<double>();
    count(only) += cast<double>(rows);
    k.in_place(count, dense({1}));
}

// One thread, which takes the float64 apart.
void count_rows_on_gpu(KernelBuilder &k) {
    const int rows = rows_of(k);
    Func count("count");
    RDom only(0, 1, "only");
    count(Var()) = undef<uint32_t>();
    count(only) += cast<uint32_t>(rows);
    RVar block("block"), thread("thread");
    count.update().split(only, block, thread, 1).gpu_blocks(block).gpu_threads(thread);
    k.outputs(count, {{.name = "count", .shape = dense({1}), .kind = ArgKind::inout, .words = true}});
    k.program = [rows](ThreadProgram &p) {
        const WordPair before{p.read("count", {0, 0}), p.read("count", {1, 0})},
            now = write_count(p.name(), moved_on(read_count(before), rows));
        p.write("count", {0, 0}, now.low);
        p.write("count", {1, 0}, now.high);
    };
}

const Kernel count_rows{"count_rows", count_rows_on_cpu, count_rows_on_gpu, Fp16::none};

} // namespace

} // namespace longwave::schedules
