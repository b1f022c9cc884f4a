#include "schedules/transforms/gpu_butterflies.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/internals.h"

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
    const int side = std::min(power_of_two_above(all), std::max(1, threads)), turns = (all + side - 1) / side;
    d = RDom(0, turns, 0, side, fresh_name("butterfly"));
    const Expr any = d.x * side + d.y;
    if (turns * side > all) d.where(any < all);
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

} // namespace longwave::schedules
