#include "schedules/transforms/gpu_butterflies.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/threads.h"
#include <algorithm>
#include <array>
#include <bit>
#include <set>

namespace longwave::schedules {

using namespace Halide;

Butterflies::Butterflies(int points, int blocks, int radix, int threads, int groups)
    : radix_(radix), apart_(points / blocks / radix) {
    const int size = points / blocks, apart = apart_, all = groups > 0 ? groups : points / radix;
    const Expr g = number(all, threads);
    block = blocks == 1 ? Expr(0) : g / apart;
    offset = blocks == 1 ? g : g % apart;
    for (int i = 0; i < radix; i++) at.push_back(block * size + offset + i * apart);
}

Butterflies::Butterflies(int all, int radix, int apart, int threads,
                         const std::function<Expr(const Expr &g)> &first)
    : radix_(radix), apart_(apart) {
    const Expr begin = first(number(all, threads));
    for (int i = 0; i < radix; i++) at.push_back(begin + i * apart);
}

Expr Butterflies::number(int all, int threads) {
    const int side = std::min(power_of_two_above(all), std::max(1, threads)),
              iterations = (all + side - 1) / side;
    d = RDom(0, iterations, 0, side, fresh_name("butterfly"));
    const Expr any = d.x * side + d.y;
    if (iterations * side > all) d.where(any < all);
    return min(any, all - 1); // in sight of the bounds
}

void Butterflies::store(Func f, const SharedPlaces &shared, const std::vector<Complex> &x, int group) const {
    define_points(f, places(shared), x);
    const Var lane = f.args()[0];
    Stage stage = f.update(f.num_update_definitions() - 1);
    stage.allow_race_conditions().reorder(d.x, lane, d.y);
    threads_over(stage, lane, d.y, group);
}

void threads_over(Stage stage, const VarOrRVar &lane, const VarOrRVar &thread, int group) {
    if (group == 1) stage.gpu_threads(thread);
    else stage.gpu_threads(lane, thread);
}

int lanes_together(const KernelBuilder &k, int extent, int64_t bytes_of_lane) {
    const int64_t room = k.target.shared_bytes / bytes_of_lane;
    return divisor_at_most(extent, static_cast<int>(std::clamp<int64_t>(room, 1, sector_channels)));
}

int threads_of_channel(const KernelBuilder &k, int points) {
    return std::min(loop_threads(k.target), std::max(1, points / 8));
}

void require_fits(const KernelBuilder &k, const char *param, int length, int bytes_of_point) {
    const std::string name = std::string("'") + param + "'";
    k.params.require(!right_angle_radices(extent(length)).empty(), name + " must be a product of 2, 3 and 5");
    k.params.require(int64_t{length} * bytes_of_point <= k.target.shared_bytes,
                     name + " is at most " + std::to_string(k.target.shared_bytes / bytes_of_point) + " on " +
                         k.target.name);
}

void share(Func points, const LoopLevel &level, int wide, int places) {
    const std::vector<Var> vars = points.args();
    points.compute_at(level)
        .store_in(MemoryType::GPUShared)
        .bound_extent(vars[0], wide)
        .bound_extent(vars[1], 2)
        .bound_extent(vars[2], places)
        .reorder_storage(vars[0], vars[2], vars[1]);
}

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
