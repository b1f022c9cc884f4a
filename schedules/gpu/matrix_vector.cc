#include "schedules/gpu/matrix_vector.h"
#include <algorithm>

namespace longwave::gpu {

namespace {

constexpr uint32_t least_slices = 8;

class MatrixVector {
public:
    MatrixVector(const ProductSizes &sizes, const VectorSlices &slices, const DeclareFinishVectors &finish)
        : sizes_(sizes), slices_(slices.slices), together_(slices.together), threads_(slices.threads()),
          halves_(sizes.panels.halves), of_word_(sizes.panels.of_word()),
          p_("linear_rows", {slices.threads(), 1, 1}, {sizes.panels.count() / sizes.blocks, sizes.blocks, 1}),
          b_(p_, sizes_, 1, finish) {
        p_.shared(sizes.rows * halves_ * plane * 4, 4);
    }

    Program run() {
        thread_ = p_.thread();
        panel_ = p_.group(0);
        input_ = p_.u32(sizes_.first);
        if (sizes_.blocks > 1) { // of the diagonal
            const Uint block = p_.group(1);
            panel_ = panel_ + block * (sizes_.panels.count() / sizes_.blocks);
            input_ = input_ + block * sizes_.in;
        }
        lane_ = thread_ & 3u;
        slice_ = thread_ >> p_.u32(2);
        find_places();
        const Float zero = p_.f32(0);
        for (uint32_t i = 0; i < 4 * sums(); i++) sums_.push_back(p_.keep(zero));
        walk();
        add_up();
        p_.drop_unused();
        return std::move(p_);
    }

private:
    uint32_t sums() const { return sizes_.rows * halves_; } // fours of a thread: by row and half

    void find_places() {
        const auto stride = static_cast<uint32_t>(sizes_.panels.stride() / 4);
        word_ = panel_ * (halves_ * stride) + thread_; // of slice 0: the thread's number within 4 words
        half_apart_ = stride;
        input_ = input_ + slice_ * of_word_;
    }

    // Neighbouring slices have neighbouring words. Only the last iterations may meet words or inputs
    // that do not exist.
    void walk() {
        const uint32_t safe = sizes_.in / (slices_ * of_word_), rounds = safe / together_;
        if (rounds)
            p_.loop(rounds, [&](Uint round) { read_and_add(round * together_, together_, together_); });
        const uint32_t done = rounds * together_, all = (sizes_.panels.words() + slices_ - 1) / slices_;
        if (all > done) read_and_add(p_.u32(done), all - done, safe - done);
    }

    // All loads first: they are under way together.
    void read_and_add(Uint iteration, uint32_t iterations, uint32_t safe) {
        std::vector<Vec4> weights;
        std::vector<Float> x;
        for (uint32_t t = 0; t < iterations; t++) {
            const Uint word = (iteration + t) * slices_ + slice_, from = word_ + (iteration + t) * threads_;
            const Bool exists = word < p_.u32(sizes_.panels.words());
            const bool exist = t < safe;
            for (uint32_t half = 0; half < halves_; half++) {
                const Uint at = from + half * half_apart_;
                weights.push_back(p_.load_vec4(b_.w, exist ? at : select(exists, at, p_.u32(0))));
            }
            for (uint32_t place = 0; place < of_word_; place++)
                for (uint32_t row = 0; row < sizes_.rows; row++)
                    x.push_back(read_input(iteration + t, place, row, exist));
        }
        std::vector<Float> sums;
        for (const Register &one : sums_) sums.push_back(p_.get(one));
        for (uint32_t t = 0; t < iterations; t++)
            for (uint32_t half = 0; half < halves_; half++)
                for (uint32_t place = 0; place < of_word_; place++) {
                    const Vec4 w = b_.widened(weights[t * halves_ + half], place);
                    for (uint32_t row = 0; row < sizes_.rows; row++)
                        for (uint32_t o = 0; o < 4; o++) {
                            Float &to = sums[(row * halves_ + half) * 4 + o];
                            to = fma(x[(t * of_word_ + place) * sizes_.rows + row], w[o], to);
                        }
                }
        for (size_t i = 0; i < sums.size(); i++) p_.set(sums_[i], sums[i]);
    }

    // Inputs that do not exist are zero.
    Float read_input(Uint iteration, uint32_t place, uint32_t row, bool exist) {
        const uint32_t step = slices_ * of_word_;
        const Uint at = input_ + iteration * step + (place + row * sizes_.in_row);
        if (exist) return p_.load(b_.x, at);
        const Bool exists = slice_ * of_word_ + iteration * step + place < p_.u32(sizes_.in);
        return select(exists, p_.load(b_.x, select(exists, at, p_.u32(sizes_.first))), p_.f32(0));
    }

    // ---- the sums of all slices ----
    // In shared memory, a plane for each row and half; planes that neighbours read begin in
    // different banks. First a few groups of slices, then the groups.
    static constexpr uint32_t plane_of(uint32_t slices) { return slices * 4 + 4; }

    void add_up() {
        const auto store = [&](Uint at, const Vec4 &four) { p_.store_shared_vec4(at, four); };
        for (uint32_t sum = 0; sum < sums(); sum++) {
            Vec4 own;
            for (uint32_t o = 0; o < 4; o++) own[o] = p_.get(sums_[sum * 4 + o]);
            store(thread_ + sum * plane, own);
        }
        p_.barrier();
        if (slices_ > groups) {
            const uint32_t items = sums() * groups * 4;
            for (uint32_t first = 0; first < items; first += threads_) {
                const Uint item = thread_ + first;
                const auto add = [&] {
                    const Uint sum = item >> p_.u32(log2_of(groups * 4));
                    const Uint at = sum * plane + (item & (groups * 4 - 1));
                    store(at, sum_of(at, slices_ / groups, groups * 4));
                };
                if (items - first >= threads_) add();
                else p_.when(thread_ < p_.u32(items - first), add);
            }
            p_.barrier();
        }
        p_.when(thread_ < p_.u32(sizes_.rows * 4), [&] {
            const VectorPlace at{panel_ * 4u + lane_, slice_};
            std::vector<Vec4> totals;
            for (uint32_t half = 0; half < halves_; half++) {
                const Uint from = (slice_ * halves_ + half) * plane + lane_;
                Vec4 total = sum_of(from, std::min(slices_, groups), 4);
                const Vec4 start = b_.start(at.four, half);
                for (size_t o = 0; o < 4; o++) total[o] = total[o] + start[o];
                totals.push_back(total);
            }
            b_.store(at, totals);
        });
    }

    Vec4 sum_of(Uint from, uint32_t count, uint32_t step) {
        Vec4 total = p_.load_shared_vec4(from);
        for (uint32_t i = 1; i < count; i++) {
            const Vec4 next = p_.load_shared_vec4(from + i * step);
            for (size_t o = 0; o < 4; o++) total[o] = total[o] + next[o];
        }
        return total;
    }

    static constexpr uint32_t groups = 8;
    const ProductSizes sizes_;
    const uint32_t slices_, together_, threads_, halves_, of_word_, plane = plane_of(slices_); // in fours
    Program p_;
    ProductBuffers b_;
    Uint thread_, panel_, lane_, slice_, word_, input_;
    uint32_t half_apart_ = 0;
    std::vector<Register> sums_; // by row, half and output
};

} // namespace

std::vector<VectorSlices> vector_slices(const ProductSizes &sizes, const schedules::WorkgroupLimits &limits) {
    const schedules::Panels &panels = sizes.panels;
    if (panels.out == 1 || panels.format == schedules::WeightFormat::int4) return {};
    const uint32_t sums = sizes.rows * panels.halves; // in fours
    if (sums > limits.registers / 16) return {};
    // Words of several weights take registers again when they are taken apart.
    const bool fewer = limits.few_registers() && panels.of_word() > 1;
    const uint32_t of_iteration = 4 * panels.halves + sizes.rows * panels.of_word(),
                   under_way = limits.registers * (fewer ? 3 : 5) / 8;
    VectorSlices best{least_slices, std::clamp(under_way / of_iteration, 2u, 16u)};
    const auto fits = [&](uint32_t slices) {
        return slices >= least_slices && 4 * slices <= limits.threads &&
               sums * (slices * 4 + 4) * 16 <= std::min(limits.shared_bytes, 16u << 10);
    };
    while (best.slices < 64 && best.slices * best.together < panels.words() && fits(2 * best.slices))
        best.slices *= 2;
    std::vector<VectorSlices> found{best};
    for (const uint32_t slices : {best.slices / 2, best.slices * 2})
        if (fits(slices)) found.push_back({slices, best.together});
    if (best.together >= 4) found.push_back({best.slices, best.together / 2});
    return found;
}

Program matrix_vector(const ProductSizes &sizes, const VectorSlices &slices,
                      const DeclareFinishVectors &finish) {
    return MatrixVector(sizes, slices, finish).run();
}

} // namespace longwave::gpu
