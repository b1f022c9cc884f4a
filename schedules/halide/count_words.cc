#include "schedules/halide/count_words.h"

namespace longwave::schedules {

using namespace Halide;

static Expr u32(uint32_t value) { return Expr(value); }

WordPair read_count(const WordPair &float64) {
    constexpr int bias = 1023, whole = bias + 52; // exponent of numbers whose last bit is 1
    const Expr biased = cast<int32_t>((float64.high >> 20) & u32(0x7ff)),
               right = clamp(whole - biased, 0, 52), top = (float64.high & u32(0xfffff)) | u32(0x100000);
    const Expr most = cast<uint32_t>(min(right, 31)), rest = cast<uint32_t>(clamp(right - 32, 0, 31)),
               left = cast<uint32_t>(clamp(32 - right, 0, 31));
    const Expr low = select(right >= 32, top >> rest,
                            (float64.low >> most) | select(right == 0, u32(0), top << left)),
               high = select(right >= 32, u32(0), top >> most), none = biased < bias;
    return {select(none, u32(0), low), select(none, u32(0), high)};
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

} // namespace longwave::schedules
