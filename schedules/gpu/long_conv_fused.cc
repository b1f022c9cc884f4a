// long_conv_fused: long convolution of whole sequences, causal or two-sided (the spectrum decides), in one dispatch: a
// right-angle transform, the product with the stored spectrum, the way back and the epilogue, all in shared memory.
//
// What it moves: u once and y once, 8 bytes a sample and copy, the spectrum, 8 bytes a point, and the operands of the
// epilogue. Rows have their channels innermost and memory is read in sectors of 32 bytes: a workgroup takes as many
// channels, up to 8, as fit into shared memory beside each other (8 bytes a point). With 8 every sector is used whole
// by one workgroup. With fewer, at 16 KiB from length 512 on, its neighbours along the grid use the rest, which the
// second cache hands to them if they run at the same time: at length 2,048 a sector is asked for 8 times.
#include "schedules/gpu/threads.h"
#include "schedules/long_conv_transform.h"
#include "schedules/registry.h"
#include "schedules/twiddles.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int bytes_of_fused_point = 8;

class Fused {
public:
    explicit Fused(KernelBuilder &k)
        : k_(k), length_(k.params.integer("length", 4, 1 << 22)), rows_(k.params.integer("rows", 1, 1 << 22)),
          copies_(k.params.integer_or("copies", 1, 1, 64)),
          channels_(k.params.integer("channels", 1, 1 << 20)),
          row_(static_cast<int>(pad(static_cast<uint32_t>(channels_)))), tile_(std::min(row_, 16)),
          transform_(length_, Float(32), [this](const Expr &i) { return Expr(twiddles_(i)); }) {
        k.params.require(!right_angle_radices(static_cast<uint32_t>(length_)).empty(),
                         "'length' must be a product of 2, 3 and 5");
        k.params.require(rows_ <= length_, "'rows' must not exceed length");
        k.params.require(int64_t{length_} * bytes_of_fused_point <= k.target.shared_bytes,
                         "'length' is at most " +
                             std::to_string(k.target.shared_bytes / bytes_of_fused_point) + " on " +
                             k.target.name);
        wide_ = std::min(row_, sector_channels);
        while (int64_t{wide_} * length_ * bytes_of_fused_point > k.target.shared_bytes) wide_ /= 2;
    }

    void build() {
        const Shape y_shape = dense({row_, copies_, rows_});
        u_ = k_.input("u", dense({row_, rows_}));
        spectrum_ = k_.weight("spectrum", dense({tile_, 2, length_, copies_, row_ / tile_}));
        twiddles_ = k_.weight("twiddles", dense({2 * (length_ - 1)}));
        epilogue_ = k_.epilogue(y_shape, channels_);

        // THE ALGORITHM
        // A pass for each level, in place: a thread has all points of its butterflies in registers between reading
        // and writing them. The last level forward, the product and the first level back are one pass.
        points_(c_, p_, m_) = Tuple(undef<float>(), undef<float>());
        y_(c_, m_, t_) = undef<float>();
        const int last = static_cast<int>(transform_.radices().size()) - 1;
        for (int level = 0; level < last; level++) pass(level, Step::forward);
        pass(last, Step::middle);
        for (int level = last - 1; level >= 0; level--) pass(level, Step::inverse);
        if (last > 0) {
            points_.compute_at(y_, block_).store_in(MemoryType::GPUShared);
            points_.bound_extent(c_, wide_).bound_extent(p_, length_);
        }
        k_.output(y_, y_shape);
    }

private:
    enum class Step { forward, middle, inverse };

    void pass(int level, Step step) {
        const int radix = transform_.radices()[static_cast<size_t>(level)], blocks = transform_.blocks(level),
                  size = length_ / blocks, apart = size / radix;
        const bool ends = level == 0 && step != Step::forward;
        const int groups = ends ? std::min(apart, rows_) : length_ / radix;
        // Threads: channels innermost, as rows lie, then butterflies side by side; each takes every
        // `threads`-th where there are more.
        const int threads = std::min(power_of_two_above(groups), k_.target.threads / wide_),
                  turns = (groups + threads - 1) / threads;
        RDom d(0, turns, 0, threads, Internal::unique_name("butterfly"));
        const Expr g = d.x * threads + d.y;
        if (turns * threads > groups) d.where(g < groups);
        const Expr block = blocks == 1 ? Expr(0) : g / apart,
                   first = blocks == 1 ? g : block * size + g % apart;
        std::vector<Expr> at;
        std::vector<Complex> x;
        for (int i = 0; i < radix; i++) {
            at.push_back(first + i * apart);
            x.push_back(level == 0 && step != Step::inverse
                            ? sample(at.back(), i * apart)
                            : Complex{points_(c_, at.back(), m_)[0], points_(c_, at.back(), m_)[1]});
        }
        if (step != Step::inverse) transform_.forward(x, level, block);
        if (step == Step::middle)
            for (size_t i = 0; i < x.size(); i++) x[i] = x[i] * kernel(at[i]);
        if (step != Step::forward) transform_.inverse(x, level, block);
        if (ends) {
            drop_outside(rows_, apart, g, at, x);
            write_output(d, at, x);
        } else {
            write_points(d, at, x);
        }
    }

    // `least`: the first position that the point of a butterfly can have. What lies behind the rows is zero.
    Complex sample(const Expr &position, int least) const {
        if (least >= rows_) return {};
        return {select(position < rows_, u_(c_, min(position, rows_ - 1)), 0.0f), Expr()};
    }
    Complex kernel(const Expr &position) const {
        return {spectrum_(c_ % tile_, 0, position, m_, c_ / tile_),
                spectrum_(c_ % tile_, 1, position, m_, c_ / tile_)};
    }

    // THE SCHEDULE
    void write_points(const RDom &d, const std::vector<Expr> &at, const std::vector<Complex> &x) {
        points_(c_, scatter(at), m_) = Tuple(gather(real_parts(x)), gather(imaginary_parts(x)));
        points_.update(points_.num_update_definitions() - 1)
            .allow_race_conditions()
            .reorder(d.x, c_, d.y, m_)
            .gpu_threads(c_, d.y);
    }
    void write_output(const RDom &d, const std::vector<Expr> &at, const std::vector<Complex> &x) {
        y_(c_, m_, scatter(at)) = epilogue_(gather(real_parts(x)), {c_, m_, gather(at)});
        Var channel("channel");
        y_.update()
            .allow_race_conditions()
            .split(c_, block_, channel, wide_)
            .reorder(d.x, channel, d.y, block_, m_)
            .gpu_blocks(block_, m_)
            .gpu_threads(channel, d.y);
    }

    KernelBuilder &k_;
    const int length_, rows_, copies_, channels_, row_, tile_;
    int wide_ = 1; // channels of a workgroup
    RightAngle transform_;
    ImageParam u_, spectrum_, twiddles_;
    KernelBuilder::Epilogue epilogue_;
    Var c_{"c"}, p_{"p"}, m_{"m"}, t_{"t"}, block_{"block"};
    Func points_{"points"}, y_{"y"};
};

void build_long_conv_fused(KernelBuilder &k) { Fused(k).build(); }

const GpuSchedule long_conv_fused{"long_conv_fused", build_long_conv_fused};

} // namespace

} // namespace longwave::schedules
