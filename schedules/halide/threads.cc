#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

int power_of_two_above(int n) {
    int power = 1;
    while (power < n) power *= 2;
    return power;
}

Spread spread(Stage stage, const std::vector<VarOrRVar> &dims, const std::vector<int> &extents,
              const SpreadOptions &options) {
    if (options.rows_first) {
        std::vector<VarOrRVar> rotated(dims);
        std::vector<int> rotated_extents(extents);
        std::rotate(rotated.begin(), rotated.end() - 1, rotated.end());
        std::rotate(rotated_extents.begin(), rotated_extents.end() - 1, rotated_extents.end());
        SpreadOptions once = options;
        once.rows_first = false;
        return spread(std::move(stage), rotated, rotated_extents, once);
    }
    constexpr int most_groups = 65535; // along a dimension (targets/)
    const bool plain = !dims[0].is_rvar;
    const auto loop = [&](const char *name) { return plain ? VarOrRVar(Var(name)) : VarOrRVar(RVar(name)); };
    const VarOrRVar block_x = loop("block_x"), block_y = loop("block_y"), thread_x = loop("thread_x"),
                    thread_y = loop("thread_y"), of_x = loop("of_x"), of_y = loop("of_y"),
                    tile_x = loop("tile_x"), tile_y = loop("tile_y");
    const TailStrategy guarded = TailStrategy::GuardWithIf;
    const int x = std::min(power_of_two_above(extents[0]), options.along_x), tile = x * options.elements_x;
    stage.split(dims[0], block_x, tile_x, tile, guarded).split(tile_x, of_x, thread_x, x);
    if (options.elements_x > 1) stage.unroll(of_x);
    if (dims.size() == 1) {
        stage.reorder(of_x, thread_x, block_x).gpu_blocks(block_x).gpu_threads(thread_x);
        return {block_x, thread_x, tile, 1};
    }
    const int y = std::min(power_of_two_above(extents[1]), std::max(1, options.threads / x));
    const int groups = (extents[1] + y * options.elements_y - 1) / (y * options.elements_y);
    const int each = options.elements_y * ((groups + most_groups - 1) / most_groups);
    stage.split(dims[1], block_y, tile_y, y * each, guarded).split(tile_y, thread_y, of_y, each);
    if (each > 1 && each == options.elements_y) stage.unroll(of_y);
    if (dims.size() == 2) {
        stage.reorder(of_x, of_y, thread_x, thread_y, block_x, block_y);
        stage.gpu_blocks(block_x, block_y).gpu_threads(thread_x, thread_y);
        return {block_x, thread_x, tile, y * each};
    }
    // The third is that of the grid, several a workgroup where there are too many.
    const VarOrRVar block_z = loop("block_z"), of_z = loop("of_z");
    stage.split(dims[2], block_z, of_z, (extents[2] + most_groups - 1) / most_groups, guarded);
    stage.reorder(of_x, of_y, of_z, thread_x, thread_y, block_x, block_y, block_z);
    stage.gpu_blocks(block_x, block_y, block_z).gpu_threads(thread_x, thread_y);
    return {block_x, thread_x, tile, y * each};
}

void blocks_along(Stage stage, const Var &block, int count, const KernelBuilder &k) {
    if (count <= k.target.group_count) {
        stage.gpu_blocks(block);
        return;
    }
    const int far = (count + k.target.group_count - 1) / k.target.group_count, near = (count + far - 1) / far;
    const Var far_block("far_block");
    stage.split(block, far_block, block, near, TailStrategy::GuardWithIf).gpu_blocks(block, far_block);
}

Fold::Fold(const std::string &name, const std::vector<Var> &at, int extent, int threads, const Lane &value,
           const Join &join, const Expr &nothing, bool exact)
    : at_(at), threads_(threads), groups_(std::min(threads, 8)), own_(name + "_own"),
      partial_(name + "_partial"), few_(name + "_few"), all_(name) {
    const std::vector<Expr> here(at.begin(), at.end());
    std::vector<Expr> lane{u_};
    lane.insert(lane.end(), here.begin(), here.end());
    const auto of = [&](const Expr &u) {
        std::vector<Expr> list = lane;
        list[0] = u;
        return list;
    };
    RDom k(0, (extent + threads - 1) / threads, "k");
    const Expr index = k * threads + u_;
    const bool whole = extent % threads == 0;
    const Expr one = value(whole ? index : min(index, extent - 1), here);
    const Expr term = whole ? one : select(index < extent, one, nothing);
    if (exact) {
        own_(lane) = Tuple(0.0f, 0.0f);
        const Expr high = own_(lane)[0], next = high + term, part = next - high;
        own_(lane) = Tuple(next, own_(lane)[1] + ((high - (next - part)) + (term - part)));
        partial_(lane) = own_(lane)[0] + own_(lane)[1];
    } else {
        own_(lane) = nothing;
        own_(lane) = join(own_(lane), term);
        partial_(lane) = own_(lane);
    }
    const auto joined = [&](const Func &f, const std::function<Expr(int)> &at_k, int count) {
        Expr value_of = f(of(at_k(0)));
        for (int i = 1; i < count; i++) value_of = join(value_of, f(of(at_k(i))));
        return value_of;
    };
    few_(lane) = joined(partial_, [&](int i) -> Expr { return u_ + i * groups_; }, threads / groups_);
    all_(here) = joined(few_, [](int i) -> Expr { return i; }, groups_);
}

Fold Fold::sum(const std::string &name, const std::vector<Var> &at, int extent, int threads,
               const Lane &value) {
    return {name, at, extent, threads, value, [](const Expr &a, const Expr &b) { return a + b; }, 0.0f};
}

Fold Fold::exact_sum(KernelBuilder &k, const std::string &name, const std::vector<Var> &at, int extent,
                     int threads, const Lane &value) {
    k.exact_sums = true;
    return {name, at, extent, threads, value, [](const Expr &a, const Expr &b) { return a + b; }, 0.0f, true};
}

Fold Fold::largest(const std::string &name, const std::vector<Var> &at, int extent, int threads,
                   const Lane &value) {
    return {name,    at, extent, threads, value, [](const Expr &a, const Expr &b) { return max(a, b); },
            -3.4e38f};
}

void Fold::compute_at(const Func &f, const Var &block, const std::vector<int> &extents, int rows,
                      bool along_rows) {
    const Var row = at_.back();
    const std::vector<Var> serial(at_.begin(), at_.end() - 1);
    const auto place = [&](Func stage, bool over_lanes) {
        // `serial` has at most one: a head or a group.
        std::vector<Var> threads = over_lanes ? std::vector<Var>{u_} : serial;
        threads.insert(along_rows ? threads.begin() : threads.end(), row);
        std::vector<VarOrRVar> order(threads.begin(), threads.end());
        if (over_lanes) order.insert(order.begin(), serial.begin(), serial.end());
        stage.compute_at(f, block).store_in(MemoryType::GPUShared).reorder(order).bound_extent(row, rows);
        for (size_t i = 0; i < serial.size(); i++) stage.bound_extent(serial[i], extents[i]);
        if (threads.size() == 1) stage.gpu_threads(row);
        else stage.gpu_threads(threads[0], threads[1]);
        if (!along_rows) return;
        std::vector<Var> storage{row}; // neighbours meet in no bank
        if (over_lanes) storage.push_back(u_);
        storage.insert(storage.end(), serial.begin(), serial.end());
        stage.reorder_storage(storage);
    };
    partial_.bound_extent(u_, threads_);
    place(partial_, true);
    own_.compute_at(partial_, serial.empty() ? u_ : serial[0]).store_in(MemoryType::Register);
    if (threads_ > groups_) {
        few_.bound_extent(u_, groups_);
        place(few_, true);
    }
    place(all_, false);
}

} // namespace longwave::schedules
