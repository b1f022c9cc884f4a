// image_patches: the square patches of an image whose pixels come line by line. Row n of the result
// is patch n, counted line by line; it has the pixels of the patch, again line by line. A matrix
// after it makes a convolution whose stride is its size.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/conv.h"

namespace longwave::ir {
namespace {

constexpr uint32_t longest_line = 1 << 16, largest_patch = 256;

struct Patches {
    uint32_t line, side;
    uint32_t pixels() const { return side * side; }
    // The row of pixel `at` of patch n.
    size_t pixel(size_t n, uint32_t at) const {
        const size_t across = line / side;
        return (n / across * side + at / side) * line + n % across * side + at % side;
    }
};

Expected<Patches> patches_of(const Node &node) {
    LW_ASSIGN(const uint32_t line, rules::integer(node, "line", 1, longest_line));
    LW_ASSIGN(const uint32_t side, rules::integer(node, "side", 1, largest_patch));
    if (line % side != 0)
        return Status::input(
            fmt::format("attribute line expected a multiple of side {}, found {}", side, line));
    return Patches{line, side};
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    LW_ASSIGN(const Patches patches, patches_of(node));
    LW_TRY(rules::elements({patches.pixels(), in[0].dims[0]}, "a patch").status());
    Type type = in[0];
    type.dims = {patches.pixels(), in[0].dims[0]};
    type.causal = false;
    LW_ASSIGN(type.clock, rules::slower(in[0].clock, patches.pixels()));
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) {
    return looks_ahead("a patch has pixels of later lines of the image");
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const Patches patches = *patches_of(node);
    const size_t channels = out.width / patches.pixels();
    for (size_t n = 0; n < out.rows; ++n)
        for (uint32_t at = 0; at < patches.pixels(); ++at)
            std::copy_n(in[0]->row(patches.pixel(n, at)), channels, out.row(n) + at * channels);
}

Status kernel(KernelCall &call) {
    LW_ASSIGN(const Patches patches, patches_of(call.node));
    const uint32_t rows = call.rows_of_input(0), lines = patches.line * patches.side;
    if (rows % lines != 0)
        return Status::input(fmt::format("expected whole lines of patches, {} rows each, found {} rows: set "
                                         "--length to the pixels of an image",
                                         lines, rows));
    call.one_call();
    call.kernel<contract::ImagePatches>(
        {.channels = call.type(0).width(), .line = patches.line, .side = patches.side, .rows = call.rows()},
        {.x = call.all_rows_of(0), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_image_patches{
    .name = "image_patches",
    .attributes = {{"line", AttributeDef::Kind::integer}, {"side", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .end = EndRule::fixed,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
