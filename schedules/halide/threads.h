// How kernels are laid over the threads of a gpu. A workgroup is a tile of the result; its threads
// share a few KiB of memory. What a thread alone needs it keeps in registers.
#pragma once
#include "schedules/halide/builder.h"
#include <functional>

namespace longwave::schedules {

// The loops of a result that was spread.
struct Spread {
    Halide::VarOrRVar block;  // what a workgroup shares is computed at this
    Halide::VarOrRVar thread; // what a thread needs at this
    int width, height;        // elements of a workgroup along the first dimension and the second
};

struct SpreadOptions {
    int threads = 128;  // of a workgroup, at most
    int along_x = 64;   // of these along the first dimension, at most
    int elements_x = 1; // of the first dimension a thread computes; those of the threads lie between them
    int elements_y = 1; // of the second: neighbours
    bool rows_first = false; // the last dimension, whose elements lie side by side, counts as the first
};

// One thread, or a few, for each element. One to three dimensions, innermost first, with their
// extents: threads along the first, so that neighbours read and write neighbours, and along the
// second; the third is the grid's.
Spread spread(Halide::Stage stage, const std::vector<Halide::VarOrRVar> &dims,
              const std::vector<int> &extents, const SpreadOptions &options = {});

// `count` workgroups along `block`, the outermost loop. Where a dimension of the grid has fewer they
// lie in two. What a workgroup shares is computed at `block` in both cases.
void blocks_along(Halide::Stage stage, const Halide::Var &block, int count, const KernelBuilder &k);

// Rows have their channels innermost and memory is read in sectors of 32 bytes: so many channels of
// a workgroup use a sector whole.
inline constexpr int sector_channels = 8;
// Sectors that a request of 32 lanes takes of rows, if `channels` neighbouring ones belong together.
inline constexpr uint32_t sectors_of_rows(int channels) {
    return ideal_sectors * static_cast<uint32_t>(sector_channels / std::min(channels, sector_channels));
}

int power_of_two_above(int n); // the smallest that is at least n

// Whether a result of so many elements takes long enough for variants of its kernel to matter: more
// than the microseconds of a dispatch.
inline constexpr bool worth_variants(int width, int rows) { return int64_t{width} * rows >= 1 << 16; }

// A sum, or another fold, over `extent` lanes by the `threads` of a workgroup: each over its own,
// apart by `threads`, then in two steps through shared memory. `threads` is a power of two.
class Fold {
public:
    using Lane = std::function<Halide::Expr(const Halide::Expr &lane, const std::vector<Halide::Expr> &at)>;
    using Join = std::function<Halide::Expr(const Halide::Expr &, const Halide::Expr &)>;
    // `at`: the dimensions apart from the lanes.
    Fold(const std::string &name, const std::vector<Halide::Var> &at, int extent, int threads,
         const Lane &value, const Join &join, const Halide::Expr &nothing, bool exact = false);
    static Fold sum(const std::string &name, const std::vector<Halide::Var> &at, int extent, int threads,
                    const Lane &value);
    // Each thread's sum carries what it loses: for thousands of terms. Sets `k.exact_sums`.
    static Fold exact_sum(KernelBuilder &k, const std::string &name, const std::vector<Halide::Var> &at,
                          int extent, int threads, const Lane &value);
    static Fold largest(const std::string &name, const std::vector<Halide::Var> &at, int extent, int threads,
                        const Lane &value);

    // What a lane's value needs, computed for each of them in registers.
    void with_each(Halide::Func f) const {
        f.compute_at(own_, own_.rvars()[0]).store_in(Halide::MemoryType::Register);
    }
    Halide::Expr operator()(const std::vector<Halide::Expr> &at) const { return all_(at); }
    // Computed by each workgroup of `f`. Threads along x take the lanes, those along y the last of
    // `at`, of which a workgroup has `rows`; `extents` are those of the others. `along_rows`: the
    // other way round, x takes the rows.
    void compute_at(const Halide::Func &f, const Halide::Var &block, const std::vector<int> &extents,
                    int rows, bool along_rows = false);

private:
    std::vector<Halide::Var> at_;
    int threads_, groups_;
    Halide::Var u_{"u"};
    Halide::Func own_, partial_, few_, all_;
};

} // namespace longwave::schedules
