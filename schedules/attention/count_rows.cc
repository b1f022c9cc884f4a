// count_rows: moves a count of rows on, for kernels that only read it (row_count.h).
#include "schedules/contract/kernels/positions.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/thread_program.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

void count_rows_on_cpu(KernelBuilder &k, const contract::CountRows &params) {
    const auto a = contract::names_of<contract::CountRows>();
    const int rows = params.rows;
    k.no_epilogue();
    Func count("count");
    RDom only(0, 1, "only");
    count(Var()) = undef<double>();
    count(only) += cast<double>(rows);
    k.in_place(count, a.count, dense({1}));
}

// One thread, which takes the float64 apart.
void count_rows_on_gpu(KernelBuilder &k, const contract::CountRows &params) {
    const auto a = contract::names_of<contract::CountRows>();
    const int rows = params.rows;
    k.no_epilogue();
    Func count("count");
    RDom only(0, 1, "only");
    count(Var()) = undef<uint32_t>();
    count(only) += cast<uint32_t>(rows);
    RVar block("block"), thread("thread");
    count.update().split(only, block, thread, 1).gpu_blocks(block).gpu_threads(thread);
    k.outputs(count, {k.updated_words(a.count, dense({1}))});
    k.program = [rows, to = a.count.text](ThreadProgram &p) {
        const WordPair before{p.read(to, {0, 0}), p.read(to, {1, 0})},
            now = write_count(p.name(), moved_on(read_count(before), rows));
        p.write(to, {0, 0}, now.low);
        p.write(to, {1, 0}, now.high);
    };
}

const Kernel<contract::CountRows> count_rows{count_rows_on_cpu, count_rows_on_gpu, Fp16::none};

} // namespace

} // namespace longwave::schedules
