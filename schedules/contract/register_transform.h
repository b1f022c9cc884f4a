// The right-angle transform (twiddles.h) of a GPU whose threads keep their points in registers. The
// blocks of z^L − i split, level by level. A pass is a radix: several levels of points that one
// thread holds. Between passes threads exchange points through shared memory.
//
// Compiler and kernel agree here on the form, on the table of roots and on the order of the
// spectrum. No Halide.
#pragma once
#include "schedules/contract/workgroup_limits.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace longwave::schedules {

// Outermost first. The first may have factors 3 and 5, for its roots are constants of the code. The
// others are powers of two.
using Radices = std::vector<uint32_t>;
// The levels of a radix: those of three and five, then those of two.
std::vector<int> levels_of(uint32_t radix);

struct RegisterForm {
    uint32_t length = 0;
    Radices radices;
    uint32_t points = 0; // complex points for each worker
    uint32_t lanes = 0;  // channels of a workgroup, or kernel copies of a single channel
    uint32_t planes = 1; // 2: both parts of a point are exchanged at once
    // Thread: worker · lanes + lane.
    uint32_t workers() const { return length / points; }
    uint32_t threads() const { return workers() * lanes; }
    uint32_t shared_floats() const { return radices.size() > 1 ? length * lanes * planes : 0; }
    uint32_t blocks(size_t pass) const; // before the pass
    uint32_t apart(size_t pass) const;  // positions between the points of one butterfly
    // A worker has so many butterflies of the pass. Of the last one only workers below butterflies()
    // of the whole have one.
    uint32_t butterflies(size_t pass) const { return length / radices[pass]; }
    uint32_t butterflies_of_worker(size_t pass) const;
    bool complete(size_t pass, uint32_t butterfly) const { // every worker has it
        return (butterfly + 1) * workers() <= butterflies(pass);
    }
    // Points of a thread. Those of a butterfly that the worker does not have are of no meaning.
    uint32_t slots(size_t pass) const { return butterflies_of_worker(pass) * radices[pass]; }
    size_t last_pass() const { return radices.size() - 1; }
    // The position that a worker holds in a slot during the pass, or that of another worker where it
    // has no such butterfly.
    uint32_t position(size_t pass, uint32_t worker, uint32_t slot) const;
};

// Float32 of a sector of memory. Neighbouring lanes read neighbours.
inline constexpr uint32_t sector_lanes = 8;

// Shortest and longest transform of this form. Between them lie powers of two and 3, 5 and 15 times
// these.
inline constexpr uint32_t least_register_length = 256, most_register_length = 8192;
// The shortest such product that is at least `rows`.
uint32_t register_multiple(uint32_t rows);
// The length that takes the fewest instructions and is at least `rows`; 0: there is none.
uint32_t register_length(uint32_t rows);
// Empty: the workgroup is too small or has too few registers, or the length is not one of the above.
// `row_lanes`: of a row.
std::optional<RegisterForm> register_form(uint32_t length, uint32_t row_lanes, const WorkgroupLimits &limits);
// A transform of few points, from 10 on, for many lanes: those of neighbouring columns of a matrix.
// Every worker has whole butterflies of the first pass.
std::optional<RegisterForm> register_column_form(uint32_t length, const WorkgroupLimits &limits);

// One root of a butterfly: s of level `level`, block `block` of the butterfly (a even), or on the
// way back the product of the roots of two levels.
struct RootKey {
    uint32_t level = 0, block = 0;
    bool product = false; // of (level − 1, block) and (level, 2 · block)
    uint32_t power = 1;   // of s, in a level of three or five, which the table does not have
    bool operator==(const RootKey &) const = default;
};
// On the way back two levels at a time, from the innermost. Where one butterfly alone has the third
// root of a pair, of level and level − 1, the table holds it.
bool product_in_table(uint32_t radix, uint32_t level);
// The roots of a butterfly in the order of the table, of a power of two.
std::vector<RootKey> root_keys(uint32_t radix, bool back);

// Where the roots of a pass begin in register_roots(), and how many each block has, in fours.
struct RootPlace {
    uint32_t first = 0, of_block = 0;
};
RootPlace root_place(const Radices &radices, size_t pass, bool back);
// The roots as pairs (re, im): of the passes after the first forward, the same for the way back,
// and a four of zeros.
std::vector<float> register_roots(const Radices &radices);
// The four of zeros.
uint32_t zeros_of_roots(const Radices &radices);

// s of a block of a level of the whole transform, as an angle in turns.
double register_root_phase(const std::vector<int> &levels, uint32_t level, uint64_t block);
// Of each block of a longer transform `whole` that the form is, and each slot of the last pass and
// worker [block][slot][worker]: where the CPU's spectrum of the whole has that point.
std::vector<int32_t> register_spectrum_order(const RegisterForm &form, const Radices &whole);

// Shared memory: position n lies at fold(n) · lanes + lane. The fold swaps neighbours so that no
// two lanes of 32 meet in a bank.
struct BankFold {
    std::vector<uint32_t> shifts;
    uint32_t mask = 0;
    uint32_t operator()(uint32_t position) const;
};
BankFold bank_fold(const RegisterForm &form);

} // namespace longwave::schedules
