#include "schedules/transforms/shared_places.h"
#include "schedules/halide/threads.h"
#include <algorithm>
#include <array>
#include <bit>
#include <set>

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int banks = 32, looked_at = 2 * banks; // threads: later ones repeat what these do

// Wavefronts that shared memory needs for what the threads of one warp touch.
int wavefronts(const SharedPlaces::Access &access, int wide, const BankFold &fold, int first) {
    std::set<int> words; // a word that several threads read goes to all of them at once
    for (int thread = first; thread < std::min(first + banks, access.threads * wide); thread++)
        words.insert(static_cast<int>(fold(extent(access.position(thread / wide)))) * wide + thread % wide);
    std::array<int, banks> load{};
    for (const int word : words) load[static_cast<size_t>(word % banks)]++;
    return *std::max_element(load.begin(), load.end());
}

int all_wavefronts(const std::vector<SharedPlaces::Access> &accesses, int wide, const BankFold &fold) {
    int sum = 0;
    for (const SharedPlaces::Access &access : accesses)
        for (int first = 0; first < std::min(looked_at, access.threads * wide); first += banks)
            sum += wavefronts(access, wide, fold, first);
    return sum;
}

// By the number of shifts, each of which costs instructions.
std::vector<std::vector<uint32_t>> folds_below(int points) {
    std::vector<std::vector<uint32_t>> all;
    for (uint32_t one = 1; points >> one; one++) all.push_back({one});
    for (uint32_t one = 1; points >> one; one++)
        for (uint32_t two = one + 1; points >> two; two++) all.push_back({one, two});
    return all;
}

int rounded_up(int points, uint32_t mask) {
    const int step = static_cast<int>(mask) + 1;
    return (points + step - 1) / step * step;
}

} // namespace

SharedPlaces::SharedPlaces(int points, int wide, const std::vector<Access> &accesses, int most)
    : count_(points) {
    int least = all_wavefronts(accesses, wide, fold_);
    for (const std::vector<uint32_t> &shifts : folds_below(points))
        for (uint32_t mask = 1; (mask + 1) * extent(wide) <= banks; mask = 2 * mask + 1) {
            const BankFold fold{shifts, mask};
            const int needed = all_wavefronts(accesses, wide, fold), places = rounded_up(points, mask);
            if (needed < least && places <= most) least = needed, fold_ = fold, count_ = places;
        }
}

std::vector<SharedPlaces::Access> SharedPlaces::passes(int points, const std::vector<int> &radices,
                                                       int threads) {
    std::vector<Access> accesses;
    int size = points; // of a block
    for (const int radix : radices) {
        const int apart = size / radix,
                  side = std::min(power_of_two_above(points / radix), std::max(1, threads));
        for (int i = 0; i < radix; i++)
            accesses.push_back({[=](int n) {
                                    const int g = std::min(n, points / radix - 1);
                                    return g / apart * size + g % apart + i * apart;
                                },
                                side});
        size = apart;
    }
    return accesses;
}

Expr SharedPlaces::folded(const Expr &position) const {
    Expr value = position ^ -1;
    for (const uint32_t shift : fold_.shifts) value = value ^ (position >> static_cast<int>(shift));
    return value;
}

// Halide knows the bounds of a remainder, and none of XOR. Where it could prove that the remainder
// changes nothing it would drop it: so all digits are inverted, by XOR with -1.
Expr SharedPlaces::operator()(const Expr &position) const {
    const int step = static_cast<int>(fold_.mask) + 1;
    return fold_.shifts.empty() ? position : position / step * step + folded(position) % step;
}

// The digit of a butterfly is zero in `first`. Where it is whole bits, XOR takes it apart: its share
// is a constant.
std::vector<Expr> SharedPlaces::butterfly(const Expr &first, int apart, int radix) const {
    std::vector<Expr> places;
    const bool bits = std::has_single_bit(extent(apart)) && std::has_single_bit(extent(radix));
    const int step = static_cast<int>(fold_.mask) + 1;
    const Expr high = first / step * step, low = folded(first);
    for (int i = 0; i < radix; i++) {
        const int digit = i * apart, share = static_cast<int>(fold_(extent(digit)));
        if (fold_.shifts.empty() || !bits) places.push_back((*this)(first + digit));
        else places.push_back(high + share / step * step + (low ^ share % step) % step);
    }
    return places;
}

} // namespace longwave::schedules
