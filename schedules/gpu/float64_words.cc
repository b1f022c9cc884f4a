#include "schedules/gpu/float64_words.h"

namespace longwave::gpu {

namespace {

constexpr uint32_t sign_bit = 0x80000000, float_infinity = 0x7f800000, double_infinity = 0x7ff00000;
constexpr uint32_t float_bias = 127, double_bias = 1023;
constexpr uint32_t least = 74; // 2^-74 is the smallest float64 that is not zero to a GPU

Uint select(Bool condition, uint32_t a, Uint b) { return select(condition, b.program->u32(a), b); }
Uint one_if(Bool condition) {
    return select(condition, condition.program->u32(1), condition.program->u32(0));
}
Uint clamp(Uint a, uint32_t low, uint32_t high) { return min(max(a, low), high); }

// Veltkamp's split into halves of 12 bits, whose products are exact.
TwoFloats split(Float x) {
    const Float scaled = x * 4097.0f, high = scaled - (scaled - x);
    return {high, x - high};
}

} // namespace

TwoFloats quick_two_sum(Float a, Float b) {
    const Float sum = a + b;
    return {sum, b - (sum - a)};
}

TwoFloats two_sum(Float a, Float b) {
    const Float sum = a + b, of_b = sum - a, of_a = sum - of_b;
    return {sum, (a - of_a) + (b - of_b)};
}

TwoFloats two_product(Float a, Float b) {
    const TwoFloats of_a = split(a), of_b = split(b);
    const Float product = a * b, first = of_a.high * of_b.high - product;
    return {product, first + of_a.high * of_b.low + of_a.low * of_b.high + of_a.low * of_b.low};
}

TwoFloats select(Bool condition, const TwoFloats &a, const TwoFloats &b) {
    return {select(condition, a.high, b.high), select(condition, a.low, b.low)};
}

TwoFloats read_float64(const WordPair &words) {
    const Uint biased = (words.high >> 20) & 0x7ff, sign = words.high & sign_bit,
               fraction = words.high & 0xfffff;
    // 21, 16 and 16 bits, each times its power of two.
    const Uint inside = clamp(biased, double_bias - least, double_bias + float_bias - 1);
    const auto part = [&](Uint bits, uint32_t below) {
        return s32_to_f32(bits) * bits_to_f32((inside - (double_bias - float_bias + below)) << 23);
    };
    const TwoFloats tail = quick_two_sum(part(words.low >> 16, 36), part(words.low & 0xffff, 52)),
                    head = quick_two_sum(part(fraction | 0x100000, 20), tail.high),
                    sum = quick_two_sum(head.high, head.low + tail.low);
    const Bool none = biased < double_bias - least, endless = !(biased < double_bias + float_bias),
               number = (biased < 0x7ff) | ((fraction | words.low) < 1);
    const Uint not_a_number = words.low.program->u32(float_infinity | 0x400000),
               special = select(number, float_infinity, not_a_number),
               high = select(none, 0, select(endless, special, bits_of(sum.high))),
               low = select(none | endless, 0, bits_of(sum.low) ^ sign);
    return {bits_to_f32(high | sign), bits_to_f32(low)};
}

TwoFloats rounded(const TwoFloats &value) {
    // Adding 1.5 · 2^(exponent − 23) leaves no bits below 2^(exponent − 46).
    Program &p = *value.high.program;
    const Float coarse = bits_to_f32(bits_of(value.high) & float_infinity) * 0x1.8p-23f,
                low = (value.low + coarse) - coarse;
    return select(abs(value.high) < p.f32(0x1p-74f), {p.f32(0), p.f32(0)}, quick_two_sum(value.high, low));
}

WordPair write_float64(const TwoFloats &value) {
    const Uint of_high = bits_of(value.high), sign = of_high & sign_bit, biased = (of_high >> 23) & 0xff,
               whole = (of_high & 0x7fffff) | 0x800000; // 24 bits
    // The low part in units of the last of 53 bits, 29 behind those.
    const Uint inside = clamp(biased, float_bias - least, 254);
    const Float unit = bits_to_f32((of_high.program->u32(2 * float_bias + 52) - inside) << 23);
    const Uint part = f32_to_s32(bits_to_f32(bits_of(value.low) ^ sign) * unit);
    const Uint start = whole << 29, low = start + part,
               high = (whole >> 3) + one_if(low < start) - (part >> 31);
    // Below a power of two the first bit may be lost.
    const Bool lost = high < 0x100000;
    const Uint first = select(lost, (high << 1) | (low >> 31), high), second = select(lost, low << 1, low),
               exponent = biased + (double_bias - float_bias) - one_if(lost);
    const Bool none = biased < float_bias - least, endless = !(biased < 0xff);
    const Uint not_a_number = of_high.program->u32(double_infinity | 0x80000),
               special = select((of_high & 0x7fffff) < 1, double_infinity, not_a_number),
               number = select(endless, special, (exponent << 20) | (first & 0xfffff));
    return {select(none | endless, 0, second), sign | select(none, 0, number)};
}

TwoRegisters keep(const TwoFloats &initial) {
    Program &p = *initial.high.program;
    return {p.keep(initial.high), p.keep(initial.low)};
}
TwoFloats get(Program &program, const TwoRegisters &from) {
    return {program.get(from.high), program.get(from.low)};
}
void set(const TwoRegisters &to, const TwoFloats &value) {
    value.high.program->set(to.high, value.high);
    value.low.program->set(to.low, value.low);
}

WordPair read_count(const WordPair &float64) {
    constexpr uint32_t whole = double_bias + 52; // exponent of numbers whose last bit is 1
    const Uint biased = (float64.high >> 20) & 0x7ff, top = (float64.high & 0xfffff) | 0x100000,
               right = float64.low.program->u32(whole) - clamp(biased, double_bias, whole),
               within = right & 31, left = (float64.low.program->u32(32) - right) & 31;
    const Bool far = !(right < 32), none = biased < double_bias;
    const Uint near = (float64.low >> within) | select(within < 1, 0, top << left),
               low = select(far, top >> within, near), high = select(far, 0, top >> within);
    return {select(none, 0, low), select(none, 0, high)};
}

WordPair write_count(const WordPair &count) {
    Program &p = *count.low.program;
    Uint high = count.high, low = count.low, exponent = p.u32(double_bias + 52);
    const Bool none = (high | low) < 1;
    for (const uint32_t shift : {32u, 16u, 8u, 4u, 2u, 1u}) { // until bit 52 is the first one
        const bool word = shift == 32;
        const Bool small = word ? (high < 1) & (low < 1 << 21) : high < 1u << (21 - shift);
        const Uint far = word ? low : (high << shift) | (low >> (32 - shift)),
                   near = word ? p.u32(0) : low << shift;
        high = select(small, far, high);
        low = select(small, near, low);
        exponent = exponent - select(small, shift, p.u32(0));
    }
    return {select(none, 0, low), select(none, 0, (exponent << 20) | (high & 0xfffff))};
}

WordPair moved_on(const WordPair &count, Uint rows) {
    const Uint low = count.low + rows;
    return {low, count.high + one_if(low < count.low)};
}

WordPair moved_back(const WordPair &count, uint32_t rows) {
    const Uint low = count.low - rows;
    return {low, count.high - one_if(count.low < low)};
}

Uint count_modulo(const WordPair &count, uint32_t period) {
    // By 8 bits: a remainder of 24 bits and these are a word.
    Uint rest = (count.high & 0x1fffff) % period;
    for (const uint32_t below : {24u, 16u, 8u, 0u})
        rest = ((rest << 8) + ((count.low >> below) & 0xff)) % period;
    return rest;
}

Bool count_is_below(const WordPair &count, uint32_t limit) { return (count.high < 1) & (count.low < limit); }

Float count_as_float(const WordPair &count) {
    const Float upper = s32_to_f32(count.low >> 16), lower = s32_to_f32(count.low & 0xffff);
    return s32_to_f32(count.high) * 0x1p32f + (upper * 0x1p16f + lower);
}

} // namespace longwave::gpu
