// The errors that references add for transforms in float32, against a transform that is computed
// in float32 by the definition's recursion (radix 2), and against the formula.
#include "compiler/ops/support/transform_error.h"
#include <cmath>
#include <complex>
#include <doctest/doctest.h>
#include <numbers>
#include <random>

namespace transform_error_test {

using namespace longwave::ir;

namespace {

Array noise(size_t rows, size_t width) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    Array array{rows, width, std::vector<double>(rows * width)};
    for (double &value : array.data) value = normal(random);
    return array;
}

double root_mean_square(const std::vector<double> &values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum / static_cast<double>(values.size()));
}

template <class Real> void transform(std::vector<std::complex<Real>> &x) {
    const size_t n = x.size();
    if (n == 1) return;
    std::vector<std::complex<Real>> even, odd;
    for (size_t i = 0; i < n; i += 2) even.push_back(x[i]), odd.push_back(x[i + 1]);
    transform(even);
    transform(odd);
    for (size_t i = 0; i < n / 2; ++i) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
        const std::complex<Real> root(static_cast<Real>(std::cos(angle)), static_cast<Real>(std::sin(angle)));
        x[i] = even[i] + root * odd[i];
        x[i + n / 2] = even[i] - root * odd[i];
    }
}

} // namespace

TEST_CASE("transform error: as large as that of a transform in float32, within a factor of 2") {
    for (const size_t rows : {64u, 1024u, 16384u}) {
        const Array x = noise(rows, 1);
        std::vector<std::complex<double>> exact(x.data.begin(), x.data.end());
        std::vector<std::complex<float>> rounded;
        for (const double value : x.data) rounded.emplace_back(static_cast<float>(value));
        for (size_t i = 0; i < rows; ++i) exact[i] = static_cast<double>(rounded[i].real());
        transform(exact);
        transform(rounded);
        double error = 0, size = 0;
        for (size_t i = 0; i < rows; ++i) {
            error += std::norm(exact[i] - std::complex<double>(rounded[i]));
            size += std::norm(exact[i]);
        }
        Array moved = x;
        add_transform_error(moved, static_cast<uint32_t>(rows), 1);
        for (size_t i = 0; i < rows; ++i) moved.data[i] -= x.data[i];
        const double found = root_mean_square(moved.data) / root_mean_square(x.data);
        INFO(rows);
        INFO(found);
        INFO(std::sqrt(error / size));
        CHECK(found > std::sqrt(error / size) / 2);
        CHECK(found < std::sqrt(error / size) * 2);
    }
}

TEST_CASE("transform error: of a block's own size in each block and column, and the same for a seed") {
    Array x = noise(512, 2);
    for (size_t t = 256; t < 512; ++t) x.row(t)[0] *= 1e-6;
    for (size_t t = 0; t < 256; ++t) x.row(t)[1] = 0;
    Array moved = x, again = x, other = x;
    add_transform_error(moved, 256, 1);
    add_transform_error(again, 256, 1);
    add_transform_error(other, 256, 2);
    CHECK(moved.data == again.data);
    CHECK(moved.data != other.data);
    for (size_t t = 0; t < 512; ++t)
        for (size_t n = 0; n < 2; ++n) {
            const double size = n == 0 ? (t < 256 ? 1 : 1e-6) : (t < 256 ? 0 : 1);
            CHECK(std::fabs(moved.row(t)[n] - x.row(t)[n]) <= 1e-6 * size);
        }
}

} // namespace transform_error_test
