#include "compiler/ops/linear/transformed_product.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include <numeric>

namespace longwave::ir {

namespace {

// Whether the outputs are numbers of the spectrum that follow one another, from the first on.
bool follow(const std::vector<int32_t> &which) {
    std::vector<int32_t> expected(which.size());
    std::iota(expected.begin(), expected.end(), which.front());
    return which == expected;
}

// A product times constants, such as a window behind an inverse transform, has a bias of zeros.
bool adds_nothing(const KernelCall &call) {
    if (call.node.integer("bias") == 0) return true;
    for (uint32_t o = 0; o < call.type(1).dims[0]; ++o)
        if (call.constant(2)[o] != 0) return false;
    return true;
}

} // namespace

std::optional<FourierMatrix> transform_for(const KernelCall &call) {
    if (!may_be_special(call) || !adds_nothing(call)) return std::nullopt;
    return fourier_matrix(call.constant(1), call.type(1).dims[0], call.type(0).dims.back());
}

Status transform(KernelCall &call, FourierMatrix matrix) {
    const Type &type = call.type(0);
    const uint32_t in = type.dims.back(), out = call.type(1).dims[0], padded = schedules::pad(out),
                   rows = call.rows() * (type.width() / in);
    const Place x = call.rows_of(0),
                twiddles = call.packed("twiddles", schedules::frame_twiddles(matrix.n_fft));
    if (!matrix.scale.empty()) {
        call.kernel<contract::RowInverseDft>({.n_fft = matrix.n_fft, .rows = rows},
                                             {.x = x,
                                              .twiddles = twiddles,
                                              .scale = call.packed("scale", matrix.scale),
                                              .y = call.result_rows()});
        return Status::ok();
    }
    contract::RowDft params{.n_fft = matrix.n_fft, .rows = rows, .in = in, .out = out};
    Given::Weight which, window;
    if (follow(matrix.which)) {
        params.first = matrix.which.front();
    } else {
        matrix.which.resize(padded);
        which = call.packed("which", Packed::of(Elem::i32, {padded}, std::move(matrix.which)));
    }
    if (!matrix.window.empty()) {
        params.window = true;
        window = call.packed("window", matrix.window);
    }
    call.kernel(params,
                {.x = x, .twiddles = twiddles, .which = which, .window = window, .y = call.result_rows()});
    return Status::ok();
}

} // namespace longwave::ir
