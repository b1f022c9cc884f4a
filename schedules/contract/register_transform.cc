#include "schedules/contract/register_transform.h"
#include "schedules/contract/twiddles.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace longwave::schedules {

namespace {

constexpr uint32_t least_registers = 128; // of a thread, for points, roots and addresses
constexpr uint32_t most_lanes = 2 * sector_lanes;
constexpr uint32_t banks = 32;
constexpr uint32_t threads_of_columns = 256;

uint32_t log2_of(uint32_t power) { return static_cast<uint32_t>(std::countr_zero(power)); }

constexpr uint32_t points_of_thread = 16; // Intel's registers hold these at 512 threads without a spill

// Few passes, of which every worker has whole butterflies of the first one. The first and the last are
// large: the first has constants for roots.
Radices radices_of(uint32_t length) {
    if (length == 0) return {};
    const uint32_t odd = length >> std::countr_zero(length);
    const uint32_t first = odd == 1 ? points_of_thread : odd == 3 ? 12 : odd == 5 ? 10 : odd == 15 ? 15 : 0;
    if (first == 0 || length % first != 0) return {};
    switch (length / first) {
    case 1: return {first};
    case 2:
    case 4:
    case 8:
    case 16: return {first, length / first};
    case 32: return {first, 4, 8};
    case 64: return {first, 4, 16};
    case 128: return {first, 8, 16};
    case 256: return {first, 16, 16};
    case 512: return {first, 8, 4, 16};
    default: return {};
    }
}

// Where 16 points for each worker leave few without a butterfly of the first pass, and none without one
// of the later passes.
Radices radices_of_sixteen(uint32_t length) {
    switch (length) {
    case 320: return {20, 16};
    case 384: return {24, 16};
    case 640: return {5, 8, 16};
    case 768: return {6, 8, 16};
    case 1280: return {5, 16, 16};
    case 1536: return {6, 16, 16};
    case 2560: return {10, 16, 16};
    case 3072: return {12, 16, 16};
    case 5120: return {20, 16, 16};
    case 6144: return {24, 16, 16};
    default: return {};
    }
}

RegisterForm with_whole_butterflies(uint32_t length) { // no radices: there is none
    RegisterForm form{.length = length, .radices = radices_of(length)};
    if (!form.radices.empty()) form.points = form.radices[0];
    return form;
}

// With so many lanes, or half of these and so on, as `row_lanes` are a multiple of.
std::optional<RegisterForm> with_lanes(RegisterForm form, uint32_t most, uint32_t row_lanes,
                                       const WorkgroupLimits &limits) {
    if (form.radices.empty() || limits.registers < least_registers) return std::nullopt;
    const auto fits = [&](uint32_t planes) {
        form.planes = planes;
        return row_lanes % form.lanes == 0 && form.threads() <= limits.threads &&
               uint64_t{form.shared_floats()} * sizeof(float) <= limits.shared_bytes;
    };
    // Two planes, which take a third of the barriers, but rather one than a part of a sector.
    for (form.lanes = most; form.lanes >= sector_lanes; form.lanes /= 2)
        if (fits(2)) return form;
    for (form.lanes = most; form.lanes > 0; form.lanes /= 2)
        if (fits(2) || fits(1)) return form;
    return std::nullopt;
}

uint32_t blocks_before(const Radices &radices, size_t pass) {
    uint32_t before = 1;
    for (size_t p = 0; p < pass; p++) before *= radices[p];
    return before;
}

} // namespace

std::vector<int> levels_of(uint32_t radix) {
    std::vector<int> levels;
    for (const uint32_t prime : {3u, 5u, 2u})
        for (; radix % prime == 0; radix /= prime) levels.push_back(static_cast<int>(prime));
    return levels;
}

uint32_t RegisterForm::blocks(size_t pass) const { return blocks_before(radices, pass); }

uint32_t RegisterForm::apart(size_t pass) const { return length / blocks(pass) / radices[pass]; }

uint32_t RegisterForm::butterflies_of_worker(size_t pass) const {
    return (butterflies(pass) + workers() - 1) / workers();
}

uint32_t RegisterForm::position(size_t pass, uint32_t worker, uint32_t slot) const {
    const uint32_t radix = radices[pass], step = apart(pass),
                   butterfly = std::min(worker + slot / radix * workers(), butterflies(pass) - 1);
    return butterfly / step * radix * step + butterfly % step + slot % radix * step;
}

namespace {

uint32_t shortest_multiple(uint32_t rows, std::initializer_list<uint32_t> odds) {
    uint32_t least = std::bit_ceil(rows);
    for (const uint32_t odd : odds) least = std::min(least, odd * std::bit_ceil((rows + odd - 1) / odd));
    return least;
}

} // namespace

uint32_t register_multiple(uint32_t rows) { return shortest_multiple(rows, {3, 5, 15}); }

// 15 times a power of two takes more instructions than the next power of two.
uint32_t register_length(uint32_t rows) {
    const uint32_t length = shortest_multiple(std::max(rows, least_register_length), {3, 5});
    return length <= most_register_length ? length : 0;
}

std::optional<RegisterForm> register_form(uint32_t length, uint32_t row_lanes,
                                          const WorkgroupLimits &limits) {
    if (length < least_register_length) return std::nullopt;
    RegisterForm form{.length = length, .radices = radices_of_sixteen(length), .points = points_of_thread};
    if (form.radices.empty()) form = with_whole_butterflies(length);
    return with_lanes(std::move(form), most_lanes, row_lanes, limits);
}

std::optional<RegisterForm> register_column_form(uint32_t length, const WorkgroupLimits &limits) {
    RegisterForm form = with_whole_butterflies(length);
    if (form.radices.empty()) return std::nullopt;
    const uint32_t most = std::max(most_lanes, threads_of_columns / form.workers());
    return with_lanes(std::move(form), most, most, limits);
}

bool product_in_table(uint32_t radix, uint32_t level) { return radix >> (level + 1) == 1; }

std::vector<RootKey> root_keys(uint32_t radix, bool back) {
    const uint32_t levels = log2_of(radix);
    std::vector<RootKey> keys;
    const auto need = [&](const RootKey &key) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    };
    for (uint32_t level = 0; !back && level < levels; level++)
        for (uint32_t block = 0; block < 1u << level; block += 2) need({level, block});
    for (uint32_t left = levels; back && left > 0;) {
        const uint32_t level = left - 1, step = level > 0 ? 2 : 1;
        for (uint32_t block = 0; step == 2 && block < 1u << (level - 1); block++) {
            need({level - 1, block & ~1u});
            need({level, 2 * block});
            if (product_in_table(radix, level)) need({level, block, true});
        }
        if (step == 1) need({level, 0});
        left -= step;
    }
    return keys;
}

namespace {

std::vector<int> all_levels(const Radices &radices) {
    std::vector<int> all;
    for (const uint32_t radix : radices)
        for (const int level : levels_of(radix)) all.push_back(level);
    return all;
}

uint32_t level_of_pass(const Radices &radices, size_t pass) {
    return static_cast<uint32_t>(
        all_levels({radices.begin(), radices.begin() + static_cast<std::ptrdiff_t>(pass)}).size());
}

uint32_t fours_of_block(uint32_t radix, bool back) {
    return static_cast<uint32_t>((root_keys(radix, back).size() + 1) / 2);
}

} // namespace

RootPlace root_place(const Radices &radices, size_t pass, bool back) {
    RootPlace place;
    for (const bool direction : {false, true})
        for (size_t p = 1; p < radices.size(); p++) {
            place.of_block = fours_of_block(radices[p], direction);
            if (direction == back && p == pass) return place;
            place.first += blocks_before(radices, p) * place.of_block;
        }
    return place;
}

uint32_t zeros_of_roots(const Radices &radices) {
    if (radices.size() == 1) return 0;
    const size_t last = radices.size() - 1;
    const RootPlace place = root_place(radices, last, true);
    return place.first + blocks_before(radices, last) * place.of_block;
}

namespace {

// Block b of a level is z^M − e^(2πi φ), and φ is 1/4 at first (twiddles.h). A first level of three or
// five begins with the part whose root is −i or i, so that powers of it cost nothing.
double block_phase(const std::vector<int> &levels, size_t level, uint64_t block) {
    if (level == 0) return 0.25;
    const auto ways = static_cast<uint64_t>(levels[level - 1]);
    uint64_t part = block % ways;
    if (level == 1 && ways > 2) part = (part + (ways == 3 ? 2 : 1)) % ways;
    return (block_phase(levels, level - 1, block / ways) + static_cast<double>(part)) /
           static_cast<double>(ways);
}

} // namespace

// That of the first part of the block.
double register_root_phase(const std::vector<int> &levels, uint32_t level, uint64_t block) {
    return block_phase(levels, level + 1, block * static_cast<uint64_t>(levels[level]));
}

std::vector<float> register_roots(const Radices &radices) {
    const std::vector<int> levels = all_levels(radices);
    std::vector<float> table(4 * (size_t{zeros_of_roots(radices)} + 1), 0.0f);
    for (const bool back : {false, true})
        for (size_t pass = 1; pass < radices.size(); pass++) {
            const RootPlace place = root_place(radices, pass, back);
            const std::vector<RootKey> keys = root_keys(radices[pass], back);
            const uint32_t before = level_of_pass(radices, pass);
            for (uint32_t block = 0; block < blocks_before(radices, pass); block++)
                for (size_t i = 0; i < keys.size(); i++) {
                    const auto phase = [&](uint32_t level, uint32_t of) {
                        return register_root_phase(levels, before + level, (uint64_t{block} << level) + of);
                    };
                    const RootKey &key = keys[i];
                    const double turns =
                        key.product ? phase(key.level - 1, key.block) + phase(key.level, 2 * key.block)
                                    : phase(key.level, key.block);
                    float *at = &table[4 * (size_t{place.first} + block * place.of_block) + 2 * i];
                    at[0] = static_cast<float>(std::cos(2 * std::numbers::pi * turns));
                    at[1] = static_cast<float>(std::sin(2 * std::numbers::pi * turns));
                }
        }
    return table;
}

namespace {

// Of each position behind the last pass.
std::vector<int32_t> spectrum_places(const Radices &radices) {
    const uint32_t length = blocks_before(radices, radices.size());
    // The point at phase (k + 1/4) / length.
    const auto number = [&](double at) {
        return static_cast<size_t>(std::lround(at * length - 0.25)) % length;
    };
    const std::vector<int> levels = all_levels(radices), of_cpu = right_angle_radices(length);
    std::vector<int32_t> where(length), places;
    for (uint32_t q = 0; q < length; q++)
        where[number(phase(of_cpu, 0.25, static_cast<int>(of_cpu.size()), q))] = static_cast<int32_t>(q);
    for (uint32_t position = 0; position < length; position++)
        places.push_back(where[number(block_phase(levels, levels.size(), position))]);
    return places;
}

} // namespace

std::vector<int32_t> register_spectrum_order(const RegisterForm &form, const Radices &whole) {
    const std::vector<int32_t> places = spectrum_places(whole);
    const size_t last = form.last_pass();
    std::vector<int32_t> order;
    for (size_t block = 0; block < places.size(); block += form.length)
        for (uint32_t slot = 0; slot < form.slots(last); slot++)
            for (uint32_t worker = 0; worker < form.workers(); worker++)
                order.push_back(places[block + form.position(last, worker, slot)]);
    return order;
}

uint32_t BankFold::operator()(uint32_t position) const {
    uint32_t folded = 0;
    for (const uint32_t shift : shifts) folded ^= position >> shift;
    return position ^ (folded & mask);
}

// The first of all folds by one and by two shifts that has the fewest conflicts. XOR is linear, so
// slot 0 of a pass stands for all.
BankFold bank_fold(const RegisterForm &form) {
    const uint32_t levels = static_cast<uint32_t>(std::bit_width(form.length - 1)),
                   mask = banks / std::min(form.lanes, banks) - 1;
    std::vector<std::vector<uint32_t>> all;
    for (uint32_t one = 1; one < levels; one++) all.push_back({one});
    for (uint32_t one = 1; one < levels; one++)
        for (uint32_t two = one + 1; two < levels; two++) all.push_back({one, two});
    BankFold best;
    uint32_t least = UINT32_MAX;
    for (const std::vector<uint32_t> &shifts : all) {
        const BankFold fold{shifts, mask};
        uint32_t conflicts = 0;
        for (size_t pass = 0; pass < form.radices.size(); pass++) {
            std::vector<uint32_t> load(mask + 1, 0);
            for (uint32_t worker = 0; worker < std::min(mask + 1, form.workers()); worker++)
                load[fold(form.position(pass, worker, 0)) & mask]++;
            conflicts += *std::max_element(load.begin(), load.end());
        }
        if (conflicts < least) least = conflicts, best = fold;
    }
    return best;
}

} // namespace longwave::schedules
