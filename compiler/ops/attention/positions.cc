#include "compiler/ops/attention/positions.h"
#include "compiler/ir/kernel_call.h"
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace longwave::ir {

Expected<std::vector<uint32_t>> axes_of(const std::string &shape) {
    std::vector<uint32_t> axes;
    uint64_t rows = 1;
    for (size_t begin = 0; begin < shape.size();) {
        const size_t end = std::min(shape.find('x', begin), shape.size());
        uint32_t size = 0;
        const auto [stop, error] = std::from_chars(shape.data() + begin, shape.data() + end, size);
        rows *= size;
        if (error != std::errc() || stop != shape.data() + end || size == 0 || rows > 1 << 24 ||
            end + 1 == shape.size() || axes.size() == most_axes)
            return Status::input(
                fmt::format("shape expected 1 to {} sizes joined by x, of 2^24 positions at most, such as "
                            "\"8x11\"; found \"{}\"",
                            most_axes, shape));
        axes.push_back(size);
        begin = end + 1;
    }
    return axes;
}

uint32_t stride_of(const std::vector<uint32_t> &axes, size_t axis) {
    uint32_t stride = 1;
    for (size_t a = axis + 1; a < axes.size(); ++a) stride *= axes[a];
    return stride;
}

namespace {

// Bits of each angle, from bit `shift` on.
std::vector<int32_t> theta_words(const Numbers &angles, unsigned shift) {
    std::vector<int32_t> out;
    for (const double value : angles) {
        long double turns = static_cast<long double>(value) * 0.15915494309189533576888376337251436L; // 1/2π
        turns -= std::floor(turns);
        const long double whole = std::nearbyint(std::ldexp(turns, 64));
        const uint64_t word = whole < 18446744073709551616.0L ? static_cast<uint64_t>(whole) : 0;
        out.push_back(static_cast<int32_t>(static_cast<uint32_t>(word >> shift)));
    }
    return out;
}

} // namespace

Theta::Theta(KernelCall &call, const std::vector<uint32_t> &dims)
    : high(call.packed("theta.high", Packed::of(Elem::i32, dims, theta_words(call.constant(1), 32)))),
      low(call.packed("theta.low", Packed::of(Elem::i32, dims, theta_words(call.constant(1), 0)))) {}

} // namespace longwave::ir
