#include "schedules/contract/twiddles.h"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace longwave::schedules {

namespace {

constexpr double turn = 2 * std::numbers::pi;

// Radices of a power of two for a self-sorting transform: fours, and one two.
std::vector<int> power_of_two_radices(int n) {
    std::vector<int> radices;
    while (n % 4 == 0) radices.push_back(4), n /= 4;
    if (n == 2) radices.push_back(2);
    return radices;
}

int floats_of(const std::vector<int> &radices) {
    int length = 1, floats = 0;
    for (int r : radices) length *= r;
    for (int r : radices) floats += 2 * length / r * (r - 1), length /= r;
    return floats;
}

// exp(2πi·p·k/n) for k = 1 … R−1, for every p < n/R, for every pass; n shrinks by the radix of each
// pass.
void append_passes(std::vector<float> &table, const std::vector<int> &radices) {
    int length = 1;
    for (int r : radices) length *= r;
    for (int r : radices) {
        for (int p = 0; p < length / r; p++)
            for (int k = 1; k < r; k++) {
                table.push_back(static_cast<float>(std::cos(turn * p * k / length)));
                table.push_back(static_cast<float>(std::sin(turn * p * k / length)));
            }
        length /= r;
    }
}

} // namespace

std::vector<int> right_angle_radices(uint32_t length) {
    if (length < 4) return {};
    int twos = 0;
    std::vector<int> threes, fives, radices;
    while (length % 5 == 0) fives.push_back(5), length /= 5;
    while (length % 3 == 0) threes.push_back(3), length /= 3;
    while (length % 2 == 0) twos++, length /= 2;
    if (length != 1) return {};
    // The odd radices go first, where their twiddles are constants of the code; fours last.
    if (twos % 2) radices.push_back(2);
    radices.insert(radices.end(), fives.begin(), fives.end());
    radices.insert(radices.end(), threes.begin(), threes.end());
    radices.insert(radices.end(), twos / 2, 4);
    return radices;
}

namespace {

// The cheapest length of at least `rows` that is a multiple of `unit`, itself one.
uint32_t cheapest_length(uint32_t rows, uint32_t unit) {
    auto cost = [](uint32_t length) {
        double sum = 1.5; // loading, product, storing
        for (int r : right_angle_radices(length)) sum += r == 2 ? 0.7 : r == 3 ? 0.95 : r == 4 ? 1.0 : 1.5;
        return sum * length;
    };
    uint32_t end = unit;
    while (end < rows) end *= 2;
    uint32_t best = end;
    for (uint32_t length = std::max((rows + unit - 1) / unit * unit, unit); length < end; length += unit)
        if (!right_angle_radices(length).empty() && cost(length) < cost(best)) best = length;
    return best;
}

} // namespace

uint32_t right_angle_length(uint32_t rows) { return cheapest_length(std::max(rows, 4u), 1); }
uint32_t polyphase_length(uint32_t rows) { return cheapest_length(rows, 256); }

double phase(const std::vector<int> &radices, double phase0, int level, int64_t block) {
    if (level == 0) return phase0;
    const int r = radices[level - 1];
    return (phase(radices, phase0, level - 1, block / r) + static_cast<double>(block % r)) / r;
}

std::vector<double> right_angle_twiddles(uint32_t length, TwiddleOrder order) {
    const std::vector<int> radices = right_angle_radices(length);
    std::vector<double> table(2 * (size_t{length} - 1));
    int64_t blocks = 1;
    for (size_t s = 0; s < radices.size(); s++) {
        double *level = &table[2 * static_cast<size_t>(blocks - 1)];
        const bool by_block = order == TwiddleOrder::by_block;
        for (int64_t q = 0; q < blocks; q++)
            for (int m = 1; m < radices[s]; m++) {
                const double angle = turn * phase(radices, 0.25, static_cast<int>(s), q) / radices[s] * m;
                const int64_t re = by_block ? 2 * (q * (radices[s] - 1) + m - 1) : 2 * (m - 1) * blocks + q;
                level[re] = std::cos(angle);
                level[re + (by_block ? 1 : blocks)] = std::sin(angle);
            }
        blocks *= radices[s];
    }
    return table;
}

bool has_polyphase(uint32_t length) { return length % 256 == 0 && !right_angle_radices(length).empty(); }

PolyphaseTables polyphase_tables(uint32_t length) {
    const int rows = static_cast<int>(length / 16), blocks = rows / 4; // of the last level of rows; groups
    PolyphaseTables tables;
    tables.first = (2 * (rows - 1) + 15) / 16 * 16;
    tables.second = tables.first + blocks * 4 * 6;
    tables.size = tables.second + blocks * 16 * 6;
    return tables;
}

std::vector<double> polyphase_twiddles(uint32_t length) {
    const std::vector<int> radices = right_angle_radices(length);
    const int levels = static_cast<int>(radices.size());
    const PolyphaseTables tables = polyphase_tables(length);
    std::vector<double> table = right_angle_twiddles(length / 16);
    table.resize(static_cast<size_t>(tables.first));
    for (const int inside : {4, 16}) // blocks of a group
        for (int64_t group = 0; group < length / 64; group++)
            for (int m = 1; m < 4; m++)
                for (int part = 0; part < 2; part++)
                    for (int i = 0; i < inside; i++) {
                        const int level = levels - (inside == 4 ? 2 : 1);
                        const double angle = turn * phase(radices, 0.25, level, group * inside + i) / 4 * m;
                        table.push_back(part ? std::sin(angle) : std::cos(angle));
                    }
    return table;
}

std::vector<LaneLevel> lane_levels(uint32_t length) {
    std::vector<LaneLevel> levels;
    int blocks = 1, offset = 0;
    for (int radix : right_angle_radices(length)) {
        const int period = std::min(std::lcm(blocks, 16), static_cast<int>(length) / radix);
        levels.push_back({radix, blocks, period, offset});
        if (blocks > 1) offset += 2 * (radix - 1) * period;
        blocks *= radix;
    }
    return levels;
}

bool is_lane_slice(const LaneLevel &level, uint32_t length, uint32_t count) {
    const uint32_t all = length / static_cast<uint32_t>(level.radix),
                   period = static_cast<uint32_t>(level.period);
    return count % 16 == 0 && all % count == 0 && (count % period == 0 || period % count == 0);
}

uint32_t twiddles_of_slice(const LaneLevel &level, uint32_t count) {
    const int last = level.offset + 2 * (level.radix - 1) * level.period;
    return static_cast<uint32_t>(last - level.period + std::min(level.period, static_cast<int>(count)));
}

std::vector<float> lane_twiddles(uint32_t length) {
    const std::vector<int> radices = right_angle_radices(length);
    const std::vector<LaneLevel> levels = lane_levels(length);
    std::vector<float> table;
    for (size_t s = 1; s < levels.size(); s++) {
        const LaneLevel &level = levels[s];
        for (int m = 1; m < level.radix; m++)
            for (int part = 0; part < 2; part++)
                for (int i = 0; i < level.period; i++) {
                    const double block_phase = phase(radices, 0.25, static_cast<int>(s), i % level.blocks),
                                 angle = turn * block_phase / level.radix * m;
                    table.push_back(static_cast<float>(part ? std::sin(angle) : std::cos(angle)));
                }
    }
    return table;
}

FrameShape frame_shape(int n_fft) {
    FrameShape shape;
    shape.rows = 1;
    while (shape.rows * shape.rows < n_fft / 2) shape.rows *= 2;
    shape.columns = n_fft / 2 / shape.rows;
    shape.row_radices = power_of_two_radices(shape.rows);
    shape.column_radices = power_of_two_radices(shape.columns);
    return shape;
}

FrameTables frame_tables(int n_fft) {
    const FrameShape shape = frame_shape(n_fft);
    const int points = n_fft / 2, bins = (points + 1 + 15) / 16 * 16;
    FrameTables t;
    t.columns = t.rows + floats_of(shape.row_radices);
    t.between_re = (t.columns + floats_of(shape.column_radices) + 15) / 16 * 16;
    t.between_im = t.between_re + points;
    t.split_re = t.between_im + points;
    t.split_im = t.split_re + bins;
    t.size = t.split_im + bins;
    return t;
}

std::vector<float> frame_twiddles(uint32_t n_fft) {
    const FrameShape shape = frame_shape(static_cast<int>(n_fft));
    const FrameTables tables = frame_tables(static_cast<int>(n_fft));
    const int points = shape.rows * shape.columns;
    std::vector<float> table;
    append_passes(table, shape.row_radices);
    append_passes(table, shape.column_radices);
    table.resize(tables.size, 0.0f);
    for (int k1 = 0; k1 < shape.rows; k1++)
        for (int n2 = 0; n2 < shape.columns; n2++) {
            const double angle = turn * k1 * n2 / points;
            table[tables.between_re + n2 * shape.rows + k1] = static_cast<float>(std::cos(angle));
            table[tables.between_im + n2 * shape.rows + k1] = static_cast<float>(std::sin(angle));
        }
    for (int k = 0; k <= points; k++) {
        table[tables.split_re + k] = static_cast<float>(std::cos(turn * k / (2 * points)));
        table[tables.split_im + k] = static_cast<float>(std::sin(turn * k / (2 * points)));
    }
    return table;
}

RealShape real_shape(uint32_t length) {
    RealShape shape;
    shape.points = static_cast<int>(length % 2 ? length : length / 2);
    int rest = shape.points;
    for (int radix : {5, 4, 3, 2})
        while (rest % radix == 0) shape.radices.push_back(radix), rest /= radix;
    shape.dense = rest > 1;
    if (shape.dense) {
        shape.radices.clear();
        shape.size = 2 * static_cast<int>(length);
        return shape;
    }
    shape.roots = floats_of(shape.radices);
    shape.size = shape.roots + 2 * (shape.points + 1);
    return shape;
}

std::vector<float> real_twiddles(uint32_t length) {
    const RealShape shape = real_shape(length);
    std::vector<float> table;
    append_passes(table, shape.radices);
    for (int k = 0; static_cast<int>(table.size()) < shape.size; k++) {
        table.push_back(static_cast<float>(std::cos(turn * k / length)));
        table.push_back(static_cast<float>(std::sin(turn * k / length)));
    }
    return table;
}

SharedRoots shared_roots(uint32_t length, uint64_t shared_bytes) {
    const RealShape shape = real_shape(length);
    SharedRoots roots;
    constexpr uint64_t bytes_of_point = 8;
    if (shape.dense || static_cast<uint64_t>(shape.points) * bytes_of_point > shared_bytes) return roots;
    int apart = shape.points;
    for (const int radix : shape.radices) {
        apart /= radix;
        roots.passes.push_back({roots.split, apart});
        if (apart > 1) roots.split += 2 * (radix - 1) * apart;
    }
    roots.size = std::max(2, roots.split + (length % 2 ? 0 : 2 * (shape.points + 1)));
    return roots;
}

std::vector<float> shared_root_values(uint32_t length, uint64_t shared_bytes) {
    const RealShape shape = real_shape(length);
    const SharedRoots roots = shared_roots(length, shared_bytes);
    std::vector<float> table(static_cast<size_t>(roots.size));
    const auto put = [&](int at, int apart, double angle) {
        table[static_cast<size_t>(at)] = static_cast<float>(std::cos(angle));
        table[static_cast<size_t>(at + apart)] = static_cast<float>(std::sin(angle));
    };
    int blocks = 1;
    for (size_t pass = 0; pass < roots.passes.size(); pass++) {
        const auto [first, apart] = roots.passes[pass];
        for (int m = 1; m < shape.radices[pass] && apart > 1; m++)
            for (int n = 0; n < apart; n++)
                put(first + 2 * (m - 1) * apart + n, apart,
                    turn * (int64_t{n} * m * blocks % shape.points) / shape.points);
        blocks *= shape.radices[pass];
    }
    for (int k = 0; length % 2 == 0 && k <= shape.points; k++)
        put(roots.split + k, shape.points + 1, turn * k / length);
    return table;
}

std::vector<float> cosine_roots(uint32_t length, bool orthonormal, bool inverse) {
    std::vector<float> table;
    for (uint32_t k = 0; k < length; k++) {
        // Of the plain transform, relative to the orthonormal one.
        const double norm = orthonormal ? std::sqrt((k == 0 ? 4.0 : 2.0) * length) : 1;
        const double scale = inverse ? norm / (2.0 * length) : 2 / norm, angle = turn / 4 * k / length;
        table.push_back(static_cast<float>(scale * std::cos(angle)));
        table.push_back(static_cast<float>(scale * std::sin(angle)));
    }
    return table;
}

} // namespace longwave::schedules
