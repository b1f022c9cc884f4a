// Where the points of transforms lie in shared memory, which has 32 banks: threads that read or
// write at once should meet in none.
#pragma once
#include "schedules/contract/register_transform.h"
#include <Halide.h>
#include <functional>
#include <vector>

namespace longwave::schedules {

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

} // namespace longwave::schedules
