// count_rows: moves a count of rows on, for kernels that only read it (row_count.h).
#include "schedules/contract/kernels/positions.h"
#include "schedules/gpu/float64_words.h"
#include "schedules/halide/registry.h"

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
    k.no_epilogue();
    Func count("count");
    count(Var()) = undef<uint32_t>(); // the type: the kernel below computes the words
    k.outputs(count, {k.updated_words(a.count, dense({1}))});
    k.written = [rows = extent(params.rows)] {
        gpu::Program p("count_rows", {1, 1, 1}, {1, 1, 1});
        const gpu::Memory memory = p.float64_buffer("count", gpu::Access::both);
        const gpu::WordPair before = gpu::read_count(p.load_words(memory, p.u32(0)));
        p.store_words(memory, p.u32(0), gpu::write_count(gpu::moved_on(before, p.u32(rows))));
        return p;
    };
}

const Kernel<contract::CountRows> count_rows{count_rows_on_cpu, count_rows_on_gpu, Fp16::none};

} // namespace

} // namespace longwave::schedules
