// count_rows: moves a count of rows on, for kernels that only read it (row_count.h).
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

Func define_count_rows(KernelBuilder &k) {
    const int rows = k.params.integer("rows", 1, 1 << 24);
    k.no_epilogue();
    Func count("count");
    RDom only(0, 1, "only");
    count(Var()) = undef<double>();
    count(only) += cast<double>(rows);
    return count;
}

void count_rows_on_cpu(KernelBuilder &k) { k.in_place(define_count_rows(k), dense({1})); }

void count_rows_on_gpu(KernelBuilder &k) {
    Func count = define_count_rows(k);
    RVar block("block"), thread("thread");
    count.update().split(count.rvars()[0], block, thread, 1).gpu_blocks(block).gpu_threads(thread);
    k.in_place(count, dense({1}));
}

const Kernel count_rows{"count_rows", count_rows_on_cpu, count_rows_on_gpu, Fp16::none};

} // namespace

} // namespace longwave::schedules
