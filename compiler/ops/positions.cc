#include "compiler/ops/positions.h"
#include <charconv>
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

} // namespace longwave::ir
