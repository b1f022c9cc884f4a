// Transforms in the shared memory of a workgroup, in place, a pass for each level: a thread has all
// points of its butterflies in registers between reading and writing them, and a barrier stands
// between passes. Points are a Func (lane, part, position, …), 8 bytes each. Parts are a dimension,
// not a Tuple: of a Tuple that an update reads and writes Halide may store one element before the
// other has been read.
#pragma once
#include "schedules/contract/register_transform.h"
#include "schedules/halide/threads.h"
#include "schedules/long_conv/transform.h"
#include <Halide.h>
#include <functional>
#include <vector>

namespace longwave::schedules {

// Where the points of transforms lie in shared memory, which has 32 banks: threads that read or
// write at once should meet in none.

class SharedPlaces {
public:
    // Neighbouring threads n = 0, 1, ... of a lane touch these positions at once.
    struct Access {
        std::function<int(int n)> position;
        int threads = 0;
    };

    SharedPlaces() = default;
    // `wide` lanes lie beside each other at each of `points` positions. There is room for `most`
    // places. Of all folds by up to two shifts it takes one with the fewest conflicts.
    SharedPlaces(int points, int wide, const std::vector<Access> &accesses, int most);

    // What the passes of a transform touch: a pass per radix, `threads` of each lane.
    static std::vector<Access> passes(int points, const std::vector<int> &radices, int threads);

    Halide::Expr operator()(const Halide::Expr &position) const;
    // Of first, first + apart, ...: the points of a butterfly.
    std::vector<Halide::Expr> butterfly(const Halide::Expr &first, int apart, int radix) const;
    int count() const { return count_; } // of places; a few more than points

private:
    Halide::Expr folded(const Halide::Expr &position) const; // its low digits are those of the place

    BankFold fold_;
    int count_ = 0;
};

// How a level's butterflies lie over the threads of a lane: side by side, each taking every so
// many-th.
class Butterflies {
public:
    // The level cuts each of `blocks` blocks of `points` points in all into `radix`. `groups`: only
    // the first of them, where there is one block.
    Butterflies(int points, int blocks, int radix, int threads, int groups = 0);
    // Butterflies of any other order: butterfly g of `all` has points `apart` from first(g) on.
    Butterflies(int all, int radix, int apart, int threads,
                const std::function<Halide::Expr(const Halide::Expr &g)> &first);
    std::vector<Halide::Expr> places(const SharedPlaces &shared) const {
        return shared.butterfly(at[0], apart_, radix_);
    }
    // Defines and schedules a pass over `f`: the points of each butterfly become x. `group`: lanes of
    // a workgroup, as threads_over.
    void store(Halide::Func f, const SharedPlaces &shared, const std::vector<Complex> &x,
               int group = 0) const;

    Halide::RDom d;               // x: the iterations of a thread, y: threads
    Halide::Expr block, offset;   // of a butterfly: in which block of the level, how far into it
    std::vector<Halide::Expr> at; // its positions

private:
    Halide::Expr number(int all, int threads); // of the butterfly; defines d

    int radix_, apart_;
};

// So many of `extent` lanes go through a workgroup together, evenly: as many as use a sector of
// memory whole, or as find room. At least one.
int lanes_together(const KernelBuilder &k, int extent, int64_t bytes_of_lane);

// Threads of a workgroup whose transform is one channel's. A thread with one butterfly per pass would
// hold what all passes need at once.
int threads_of_channel(const KernelBuilder &k, int points);

// Threads over the lanes, `group` in a workgroup, and what each has. A workgroup of one lane has its
// threads in the first dimension: software devices compute neighbours there at once.
void threads_over(Halide::Stage stage, const Halide::VarOrRVar &lane, const Halide::VarOrRVar &thread,
                  int group);

// Refuses a transform that has no radices, or of which not one lane fits, by the name of its param.
void require_fits(const KernelBuilder &k, const char *param, int length, int bytes_of_point);

// Points of `wide` lanes, computed by a workgroup at `level`. All real parts lie before all
// imaginary ones: neighbouring positions are in neighbouring banks.
void share(Halide::Func points, const Halide::LoopLevel &level, int wide, int places);

} // namespace longwave::schedules
