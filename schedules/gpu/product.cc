#include "schedules/gpu/product.h"

namespace longwave::gpu {

ProductBuffers::ProductBuffers(Program &program, const ProductSizes &sizes, uint32_t x_width,
                               const DeclareFinishVectors &finish)
    : p_(program), sizes_(sizes) {
    x = p_.buffer("x", sizes.x_channel_major ? 1 : x_width, Access::read);
    w = p_.buffer("w", 4, Access::read);
    if (sizes.scaled()) scale_ = p_.buffer("scale", 4, Access::read);
    if (sizes.bias) bias_ = p_.buffer("bias", 4, Access::read);
    finish_ = finish(p_);
    y_ = p_.buffer("y", sizes.y_channel_major ? 1 : 4, Access::write);
}

Vec4 ProductBuffers::of_output(Memory from, Uint four, uint32_t half) {
    return p_.load_vec4(from, four + half * (sizes_.width() / 4));
}

Vec4 ProductBuffers::start(Uint four, uint32_t half) {
    if (sizes_.bias && !sizes_.scaled()) return of_output(bias_, four, half);
    const Float zero = p_.f32(0);
    return {zero, zero, zero, zero};
}

void ProductBuffers::store(const VectorPlace &at, const std::vector<Vec4> &sums) {
    std::vector<Vec4> of = sums;
    for (uint32_t half = 0; half < of.size() && sizes_.scaled(); half++) {
        const Vec4 scale = of_output(scale_, at.four, half);
        for (size_t o = 0; o < 4; o++) of[half][o] = of[half][o] * p_.f32(0x1p-24f) * scale[o];
        if (!sizes_.bias) continue;
        const Vec4 bias = of_output(bias_, at.four, half);
        for (size_t o = 0; o < 4; o++) of[half][o] = of[half][o] + bias[o];
    }
    const std::optional<Vec4> gates = of.size() > 1 ? std::optional(of[1]) : std::nullopt;
    const Vec4 made = finish_(of[0], gates, at);
    if (!sizes_.y_channel_major) return p_.store_vec4(y_, at.row * (sizes_.width() / 4) + at.four, made);
    const Uint first = at.four * (4 * sizes_.rows) + at.row;
    for (uint32_t o = 0; o < 4; o++) p_.store(y_, first + o * sizes_.rows, made[o]);
}

Vec4 ProductBuffers::widened(const Vec4 &words, uint32_t place) {
    const uint32_t of_word = sizes_.panels.of_word(), bits = 32 / of_word;
    if (of_word == 1) return words;
    Vec4 made;
    for (size_t i = 0; i < 4; i++) {
        const Uint top = bits_of(words[i]) << (32 - bits - bits * place);
        made[i] = bits == 16 ? bits_to_f32(top & 0xffff0000u) : s32_to_f32(top & 0xff000000u);
    }
    return made;
}

} // namespace longwave::gpu
