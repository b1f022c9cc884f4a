#include "compiler/ops/linear/bands.h"
#include <algorithm>

namespace longwave::ir {

namespace {

constexpr uint32_t whole = 8; // bands are whole vectors of so many

} // namespace

std::optional<Bands> bands_of(const Numbers &matrix, uint32_t outputs, uint32_t inputs, uint32_t in) {
    const auto other = [](double weight) { return weight != 0; };
    Bands bands;
    std::vector<double> row(inputs);
    for (uint32_t o = 0; o < outputs; ++o) {
        matrix.read(size_t{o} * inputs, row);
        const auto begin = std::find_if(row.begin(), row.end(), other);
        const auto end = std::find_if(row.rbegin(), row.rend(), other).base();
        bands.first.push_back(begin == row.end() ? 0 : static_cast<int32_t>(begin - row.begin()));
        if (begin < end) bands.width = std::max(bands.width, static_cast<uint32_t>(end - begin));
        if (4 * bands.width > in) return std::nullopt;
    }
    bands.width = (bands.width + whole - 1) / whole * whole;
    if (bands.width == 0 || 4 * bands.width > in) return std::nullopt;
    bands.weights.resize(size_t{outputs} * bands.width);
    for (uint32_t o = 0; o < outputs; ++o) {
        matrix.read(size_t{o} * inputs, row);
        auto &first = bands.first[o];
        first = std::min(first, static_cast<int32_t>(in - bands.width));
        for (uint32_t i = 0; i < bands.width && static_cast<uint32_t>(first) + i < inputs; ++i)
            bands.weights[size_t{o} * bands.width + i] =
                static_cast<float>(row[static_cast<uint32_t>(first) + i]);
    }
    return bands;
}

} // namespace longwave::ir
