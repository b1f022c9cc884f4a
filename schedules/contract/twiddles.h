// The tables of roots that transform kernels take as weights. No Halide: the compiler computes them
// and stores them in artifacts.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>

namespace longwave::schedules {

// The right-angle transform of length L: X mod (z^L − i), so that the real part of a product is the
// causal convolution and the imaginary part its tail. A block mod (z^M − c) splits by r = c^(1/R)
// into R blocks:
//     y_j[n] = Σ_m x[n + m·M/R] · r^m · w^(j·m),   w = exp(2πi/R),   block q becomes blocks R·q + j.
// With phases in turns: φ_0 = 1/4, φ_{s+1}(R·q + j) = (φ_s(q) + j)/R and r = exp(2πi·φ_s(q)/R).
// Natural order of samples in, block order of the spectrum out: position q holds the polynomial at
// exp(2πi·φ(q)). No weighting pass, no bit reversal.

// The radices of a length, outermost level first; empty: not possible (the length must be ≥ 4 and a
// product of 2, 3 and 5).
std::vector<int> right_angle_radices(uint32_t length);
// The cheapest possible length that is at least `rows`.
uint32_t right_angle_length(uint32_t rows);
// Phase of block q at level s, in turns; phase0 is that of the only block of level 0.
double phase(const std::vector<int> &radices, double phase0, int level, int64_t block);
// r^m for m = 1 … R−1 of every block of every level, in all 2·(length − 1) values: level s begins at
// pair (blocks of s) − 1. By block: pairs (re, im) of each block in turn. By factor: for each m a row
// of real parts and one of imaginary parts of all blocks, where neighbouring threads have
// neighbouring blocks.
enum class TwiddleOrder { by_block, by_factor };
std::vector<double> right_angle_twiddles(uint32_t length, TwiddleOrder order = TwiddleOrder::by_block);

// Where a GPU that reads channel by channel finds bin q of a spectrum: the digit of the last radix
// comes first, so neighbouring threads of the last level read neighbours. The inverse is the same with
// length / last for `last`. Of integers and of Halide's expressions.
template <class Index>
Index last_digit_first(const Index &q, std::type_identity_t<Index> length, std::type_identity_t<Index> last) {
    return q % last * (length / last) + q / last;
}

// The same transform with lanes over positions (lane_transform.h): blocks lie innermost, so a
// vector of 16 positions meets 16 blocks, or fewer several times. For m = 1 … R−1 a level has a row
// of real and a row of imaginary parts of r^m, `period` values each, value i that of block i mod
// `blocks`. The first level has none.
struct LaneLevel {
    int radix = 0, blocks = 0, period = 0;
    int offset = 0; // of its rows in lane_twiddles()
};
std::vector<LaneLevel> lane_levels(uint32_t length);
// `count` butterflies of a level may be computed by themselves if they fill vectors and whole periods, or a
// period whole times. Those from butterfly b on read the table from value b mod `period` on, so many values.
bool is_lane_slice(const LaneLevel &level, uint32_t length, uint32_t count);
uint32_t twiddles_of_slice(const LaneLevel &level, uint32_t count);
std::vector<float> lane_twiddles(uint32_t length);

// The same transform with lanes over phases (polyphase.h), for multiples of 256 with two levels of
// rows at least: the table of length/16 rows, then for each group of four blocks r^m, m = 1 … 3, of
// the two levels inside, a row of real and a row of imaginary parts each: of 4 blocks, and behind
// all groups of 16.
struct PolyphaseTables {
    int first = 0, second = 0, size = 0; // where the two levels begin
};
bool has_polyphase(uint32_t length);
PolyphaseTables polyphase_tables(uint32_t length);
std::vector<double> polyphase_twiddles(uint32_t length);
// The cheapest such length that is at least `rows`.
uint32_t polyphase_length(uint32_t rows);

// The real transform of frames: n_fft/2 complex points as a matrix of rows × columns (see
// frame_power.cc).
struct FrameShape {
    int rows = 0, columns = 0; // product n_fft/2, rows ≥ columns
    std::vector<int> row_radices, column_radices;
};
FrameShape frame_shape(int n_fft);
// Offsets of its tables in frame_twiddles(), in floats.
struct FrameTables {
    int rows = 0, columns = 0, between_re = 0, between_im = 0, split_re = 0, split_im = 0, size = 0;
};
FrameTables frame_tables(int n_fft);
std::vector<float> frame_twiddles(uint32_t n_fft);

// The transform of a real sequence of any length (schedules/transforms/sequence_transform.cc): an even one as
// complex points of half the length, which are split afterwards. Where a prime above 5 divides the points
// there are no passes, only sums.
struct RealShape {
    int points = 0;
    std::vector<int> radices; // outermost pass first
    bool dense = false;
    int roots = 0, size = 0; // dense: exp(2πi·k/length) for k < length; else k ≤ points, behind the passes
};
RealShape real_shape(uint32_t length);
std::vector<float> real_twiddles(uint32_t length);

// The roots of the same transform by passes in the shared memory of a GPU (gpu_sequence_sums.h), 8
// bytes per point, where neighbouring threads have neighbouring roots. A pass has for m = 1 … R−1 a
// row of real parts and one of imaginary parts of exp(2πi·n·m·blocks/points), `apart` values each.
// Then come two rows of exp(2πi·k/length) for k ≤ points, if the length is even.
struct SharedRoots {
    struct Pass {
        int first = 0, apart = 0; // the last pass has no roots
    };
    std::vector<Pass> passes;
    int split = 0, size = 0; // size 0: there are no passes, and sums read real_twiddles
};
SharedRoots shared_roots(uint32_t length, uint64_t shared_bytes);
std::vector<float> shared_root_values(uint32_t length, uint64_t shared_bytes);

// scale·exp(πi·k/2L) for k < L as pairs, with which a real transform of reordered samples becomes
// the DCT-II: 2·Σ_t x_t cos(πk(2t + 1)/2L), or that as an orthonormal matrix. `inverse`: the roots
// of the way back.
std::vector<float> cosine_roots(uint32_t length, bool orthonormal, bool inverse);

} // namespace longwave::schedules
