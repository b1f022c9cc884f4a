#include "schedules/halide/float64_words.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

Expr u32(uint32_t value) { return Expr(value); }
Expr bits_of(const Expr &value) { return reinterpret<uint32_t>(value); }
Expr float_of(const Expr &word) { return reinterpret<float>(word); }
Expr small_float(const Expr &small) { return cast<float>(cast<int32_t>(small)); } // of less than 2^31

constexpr uint32_t sign_bit = 0x80000000, float_infinity = 0x7f800000, double_infinity = 0x7ff00000;
constexpr int float_bias = 127, double_bias = 1023;
constexpr int least = -74; // exponent of the smallest float64 that is not zero to a GPU

// 2^exponent, which a float32 holds, from the biased exponent of a float64 and what to add to it.
Expr two_to(const Expr &biased, int add) {
    return float_of(cast<uint32_t>(biased + (add - double_bias + float_bias)) << 23);
}

} // namespace

TwoFloats quick_two_sum(const Name &name, const Expr &a, const Expr &b) {
    const Expr sum = name(a + b);
    return {sum, name(b - name(sum - a))};
}

TwoFloats two_sum(const Name &name, const Expr &a, const Expr &b) {
    const Expr sum = name(a + b), of_b = name(sum - a), of_a = name(sum - of_b);
    return {sum, name(name(a - of_a) + name(b - of_b))};
}

// Veltkamp's split into halves of 12 bits, whose products are exact.
TwoFloats two_product(const Name &name, const Expr &a, const Expr &b) {
    const auto split = [&](const Expr &x) {
        const Expr scaled = name(x * 4097.0f), high = name(scaled - name(scaled - x));
        return TwoFloats{high, name(x - high)};
    };
    const TwoFloats of_a = split(a), of_b = split(b);
    const Expr product = name(a * b), first = name(name(of_a.high * of_b.high) - product),
               second = name(first + name(of_a.high * of_b.low)),
               third = name(second + name(of_a.low * of_b.high));
    return {product, name(third + name(of_a.low * of_b.low))};
}

TwoFloats read_float64(const Name &name, const WordPair &words) {
    const Expr biased = name(cast<int32_t>((words.high >> 20) & u32(0x7ff))),
               sign = words.high & u32(sign_bit), fraction = words.high & u32(0xfffff);
    // 21, 16 and 16 bits, each times its power of two.
    const Expr inside = name(clamp(biased, double_bias + least, double_bias + float_bias - 1)),
               top = name(small_float(fraction | u32(0x100000)) * two_to(inside, -20)),
               middle = name(small_float(words.low >> 16) * two_to(inside, -36)),
               bottom = name(small_float(words.low & u32(0xffff)) * two_to(inside, -52));
    const TwoFloats tail = quick_two_sum(name, middle, bottom), head = quick_two_sum(name, top, tail.high);
    const TwoFloats sum = quick_two_sum(name, head.high, name(head.low + tail.low));
    const Expr none = biased < double_bias + least, endless = biased >= double_bias + float_bias,
               number = biased != 0x7ff || (fraction | words.low) == u32(0),
               special = select(number, u32(float_infinity), u32(float_infinity | 0x400000));
    const Expr high = select(none, u32(0), endless, special, bits_of(sum.high)) | sign,
               low = select(none || endless, u32(0), bits_of(sum.low) ^ sign);
    return {name(float_of(high)), name(float_of(low))};
}

TwoFloats rounded(const Name &name, const TwoFloats &value) {
    // Adding 1.5 · 2^(exponent − 23) leaves no bits below 2^(exponent − 46).
    const Expr coarse = name(float_of(bits_of(value.high) & u32(float_infinity)) * 0x1.8p-23f),
               low = name(name(value.low + coarse) - coarse);
    const TwoFloats sum = quick_two_sum(name, value.high, low);
    const Expr none = abs(value.high) < 0x1p-74f;
    return {name(select(none, 0.0f, sum.high)), name(select(none, 0.0f, sum.low))};
}

WordPair write_float64(const Name &name, const TwoFloats &value) {
    const Expr of_high = name(bits_of(value.high)), sign = name(of_high & u32(sign_bit)),
               biased = name(cast<int32_t>((of_high >> 23) & u32(0xff))),
               whole = name((of_high & u32(0x7fffff)) | u32(0x800000)); // 24 bits
    // The low part in units of the last of 53 bits, 29 behind those.
    const Expr inside = name(clamp(biased, float_bias + least, 254)),
               unit = float_of(cast<uint32_t>(2 * float_bias + 52 - inside) << 23),
               part = name(cast<int32_t>(float_of(bits_of(value.low) ^ sign) * unit));
    const Expr start = name(whole << 29), low = name(start + cast<uint32_t>(part)),
               carry = select(low < start, u32(1), u32(0)),
               high = name((whole >> 3) + select(part < 0, u32(0xffffffff), u32(0)) + carry);
    // Below a power of two the first bit may be lost.
    const Expr lost = name(high < u32(0x100000)), first = select(lost, (high << 1) | (low >> 31), high),
               second = select(lost, low << 1, low),
               exponent = biased + (double_bias - float_bias) - select(lost, 1, 0);
    const Expr none = biased < float_bias + least, endless = biased == 0xff;
    const Expr special =
        u32(double_infinity) | select((of_high & u32(0x7fffff)) == u32(0), u32(0), u32(0x80000));
    return {name(select(none || endless, u32(0), second)),
            name(sign | select(none, u32(0), endless, special,
                               (cast<uint32_t>(exponent) << 20) | (first & u32(0xfffff))))};
}

WordPair read_count(const WordPair &float64) {
    const Expr biased = cast<int32_t>((float64.high >> 20) & u32(0x7ff)),
               right = clamp(double_bias + 52 - biased, 0, 52),
               top = (float64.high & u32(0xfffff)) | u32(0x100000);
    const Expr most = cast<uint32_t>(min(right, 31)), rest = cast<uint32_t>(clamp(right - 32, 0, 31)),
               left = cast<uint32_t>(clamp(32 - right, 0, 31));
    const Expr low = select(right >= 32, top >> rest,
                            (float64.low >> most) | select(right == 0, u32(0), top << left)),
               high = select(right >= 32, u32(0), top >> most), none = biased < double_bias;
    return {select(none, u32(0), low), select(none, u32(0), high)};
}

WordPair write_count(const Name &name, const WordPair &count) {
    Expr high = name(count.high), low = name(count.low), exponent = double_bias + 52;
    const Expr none = name((high | low) == u32(0));
    for (const uint32_t shift : {32u, 16u, 8u, 4u, 2u, 1u}) { // until bit 52 is the first one
        const Expr small =
            shift == 32 ? high == u32(0) && low < u32(1 << 21) : high < u32(1u << (21 - shift));
        const Expr now = name(small), far = shift == 32 ? low : (high << shift) | (low >> (32 - shift)),
                   near = shift == 32 ? u32(0) : low << shift;
        const Expr next = name(select(now, far, high));
        low = name(select(now, near, low));
        high = next;
        exponent = exponent - select(now, static_cast<int>(shift), 0);
    }
    const Expr all = (cast<uint32_t>(exponent) << 20) | (high & u32(0xfffff));
    return {name(select(none, u32(0), low)), name(select(none, u32(0), all))};
}

WordPair moved_on(const WordPair &count, const Expr &rows) {
    const Expr low = count.low + cast<uint32_t>(rows);
    return {low, count.high + select(low < count.low, u32(1), u32(0))};
}

WordPair moved_back(const WordPair &count, const Expr &rows) {
    const Expr low = count.low - cast<uint32_t>(rows);
    return {low, count.high - select(low > count.low, u32(1), u32(0))};
}

Expr count_modulo(const WordPair &count, int period) {
    // By 7 bits or fewer: a remainder of 24 bits and these are an int32.
    Expr rest = cast<int32_t>(count.high & u32(0x1fffff)) % period;
    int below = 32;
    for (const int taken : {7, 7, 6, 6, 6}) {
        below -= taken;
        const Expr next = cast<int32_t>((count.low >> static_cast<uint32_t>(below)) & u32((1u << taken) - 1));
        rest = (rest * (1 << taken) + next) % period;
    }
    return rest;
}

Expr count_is_below(const WordPair &count, const Expr &limit) {
    return count.high == u32(0) && count.low < cast<uint32_t>(limit);
}

Expr count_as_float(const WordPair &count) {
    const Expr upper = cast<float>(cast<int32_t>(count.low >> 16)),
               lower = small_float(count.low & u32(0xffff));
    return small_float(count.high) * 0x1p32f + (upper * 0x1p16f + lower);
}

} // namespace longwave::schedules
