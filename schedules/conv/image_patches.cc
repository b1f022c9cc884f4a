// image_patches: the rows of an image's pixels, gathered by square patches.
#include "schedules/contract/kernels/conv.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct ImagePatches {
    contract::ImagePatches::Arguments<contract::Names> a;
    int width, pixels, rows;
    Shape shape;
    Var c{"c"}, at{"at"}, r{"r"};
    Func y{"y"};
};

// THE ALGORITHM
ImagePatches define_image_patches(KernelBuilder &k, const contract::ImagePatches &params) {
    const int channels = params.channels, line = params.line, side = params.side, rows = params.rows;
    k.params.require(line % side == 0, "'line' must be a multiple of 'side'");
    const int across = line / side, lines = (rows + across - 1) / across * side;
    k.params.require(int64_t{lines} * line <= 1 << 24, "the image must have at most 2^24 pixels");
    k.no_epilogue();
    ImagePatches p{.a = contract::names_of<contract::ImagePatches>(),
                   .width = static_cast<int>(pad(extent(channels))),
                   .pixels = side * side,
                   .rows = rows,
                   .shape = {}};
    p.shape = dense({p.width, p.pixels, rows});
    ImageParam x = k.input(p.a.x, dense({p.width, lines * line}));
    const Expr row = (p.r / across * side + p.at / side) * line + p.r % across * side + p.at % side;
    p.y(p.c, p.at, p.r) = x(p.c, row);
    return p;
}

void image_patches_on_cpu(KernelBuilder &k, const contract::ImagePatches &params) {
    ImagePatches p = define_image_patches(k, params);
    p.y.vectorize(p.c, dividing_vector(p.width, k.target.vector_lanes));
    k.output(p.y, p.a.y, p.shape);
}

void image_patches_on_gpu(KernelBuilder &k, const contract::ImagePatches &params) {
    ImagePatches p = define_image_patches(k, params);
    spread(p.y, {p.c, p.at, p.r}, {p.width, p.pixels, p.rows});
    k.output(p.y, p.a.y, p.shape);
}

const Kernel<contract::ImagePatches> image_patches{image_patches_on_cpu, image_patches_on_gpu,
                                                   Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
