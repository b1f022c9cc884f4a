// circular_conv on a gpu: all of it in one dispatch, as long_conv_fused. With a kernel made in the run both transforms
// lie in shared memory, 16 bytes a point, else 8.
#include "schedules/gpu/threads.h"
#include "schedules/long_conv_transform.h"
#include "schedules/registry.h"
#include "schedules/twiddles.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

class Circular {
public:
    explicit Circular(KernelBuilder &k)
        : k_(k), length_(k.params.integer("length", 4, 1 << 22)), rows_(k.params.integer("rows", 1, 1 << 22)),
          channels_(k.params.integer("channels", 1, 1 << 20)), adaptive_(k.params.flag_or("adaptive", false)),
          all_(k.params.flag_or("all", false)), scale_(static_cast<float>(k.params.real("scale", 0, 1e30))),
          row_(static_cast<int>(pad(extent(channels_)))), tile_(std::min(row_, 16)),
          transform_(length_, Float(32), [this](const Expr &i) { return Expr(twiddles_(i)); }) {
        k.params.require(!right_angle_radices(extent(length_)).empty(),
                         "'length' must be a product of 2, 3 and 5");
        k.params.require(rows_ <= length_, "'rows' must not exceed length");
        k.params.require(all_ || row_ == tile_, "more than 16 channels need 'all' on a gpu");
        const int64_t bytes = (adaptive_ ? 16 : 8) * int64_t{length_};
        k.params.require(bytes <= k.target.shared_bytes,
                         "'length' is at most " +
                             std::to_string(k.target.shared_bytes / (adaptive_ ? 16 : 8)) + " on " +
                             k.target.name);
        wide_ = std::min(row_, sector_channels);
        while (wide_ * bytes > k.target.shared_bytes) wide_ /= 2;
    }

    void build() {
        const Shape y_shape = dense({row_, rows_});
        u_ = k_.input("u", y_shape);
        if (adaptive_) h_ = k_.input("h", y_shape);
        fixed_ =
            k_.weight("fixed", all_ ? dense({tile_, 2, length_, row_ / tile_}) : dense({tile_, 2, length_}));
        twiddles_ = k_.weight("twiddles", dense({2 * (length_ - 1)}));
        const KernelBuilder::Epilogue epilogue = k_.epilogue(y_shape, channels_);

        // THE ALGORITHM
        const int last = static_cast<int>(transform_.radices().size()) - 1;
        for (Func *f : {&made_, &points_}) (*f)(c_, part_, p_) = undef<float>();
        for (int level = 0; adaptive_ && level <= last; level++) pass(made_, h_, level, Step::forward);
        for (int level = 0; level < last; level++) pass(points_, u_, level, Step::forward);
        pass(points_, u_, last, Step::middle);
        for (int level = last - 1; level >= 0; level--) pass(points_, u_, level, Step::inverse);
        // What lies `rows` further on comes round: in the real part as far as the transform reaches, then in the
        // imaginary one.
        Var t("t");
        const auto point = [&](const Expr &at, int part) { return Expr(points_(c_, part, at)); };
        const Expr behind = t + rows_;
        Expr round = point(t, 1);
        if (rows_ < length_)
            round = select(behind < length_, point(min(behind, length_ - 1), 0),
                           point(clamp(behind - length_, 0, length_ - 1), 1));
        Func y("y");
        y(c_, t) = epilogue(point(t, 0) + round, {c_, t});

        // THE SCHEDULE
        Var block("block"), channel("channel"), line("line"), of_line("of_line");
        y.split(c_, block, channel, wide_)
            .split(t, of_line, line, std::min(power_of_two_above(rows_), k_.target.threads / wide_),
                   TailStrategy::GuardWithIf)
            .reorder(of_line, channel, line, block)
            .gpu_blocks(block)
            .gpu_threads(channel, line);
        for (Func *f : {&points_, &made_})
            if (adaptive_ || f == &points_)
                f->compute_at(y, block)
                    .store_in(MemoryType::GPUShared)
                    .bound_extent(c_, wide_)
                    .bound_extent(part_, 2)
                    .bound_extent(p_, length_);
        k_.output(y, y_shape);
    }

private:
    enum class Step { forward, middle, inverse };

    // One level of a transform in place: a thread has all points of its butterflies in registers between reading and
    // writing them.
    void pass(Func &f, const ImageParam &from, int level, Step step) {
        const int radix = transform_.radices()[static_cast<size_t>(level)], blocks = transform_.blocks(level),
                  size = length_ / blocks, apart = size / radix, groups = length_ / radix;
        const int threads = std::min(power_of_two_above(groups), k_.target.threads / wide_),
                  turns = (groups + threads - 1) / threads;
        RDom d(0, turns, 0, threads, Internal::unique_name("butterfly"));
        const Expr any = d.x * threads + d.y;
        if (turns * threads > groups) d.where(any < groups);
        const Expr g = min(any, groups - 1); // in sight of the bounds
        const Expr block = blocks == 1 ? Expr(0) : g / apart,
                   first = blocks == 1 ? g : block * size + g % apart;
        std::vector<Expr> at;
        std::vector<Complex> x;
        for (int i = 0; i < radix; i++) {
            at.push_back(first + i * apart);
            x.push_back(level == 0 && step != Step::inverse
                            ? Complex{sample(from, at.back(), i * apart), Expr()}
                            : Complex{f(c_, 0, at.back()), f(c_, 1, at.back())});
        }
        if (step != Step::inverse) transform_.forward(x, level, block);
        for (size_t i = 0; step == Step::middle && i < x.size(); i++) x[i] = x[i] * kernel(at[i]);
        if (step != Step::forward) transform_.inverse(x, level, block);
        // Parts are a dimension, not a tuple: of a tuple Halide may store one element before the other has read it.
        define_points(f, at, x);
        f.update(f.num_update_definitions() - 1)
            .allow_race_conditions()
            .reorder(d.x, c_, d.y)
            .gpu_threads(c_, d.y);
    }
    // `least`: the first position that the point of a butterfly can have. What lies behind the rows is zero.
    Expr sample(const ImageParam &from, const Expr &position, int least) const {
        if (least >= rows_) return {};
        return select(position < rows_, from(c_, min(position, rows_ - 1)), 0.0f);
    }
    Complex kernel(const Expr &at) const {
        const auto still = [&](int part) -> Expr {
            return all_ ? fixed_(c_ % tile_, part, at, c_ / tile_) : fixed_(c_, part, at);
        };
        if (!adaptive_) return {still(0), still(1)};
        return {still(0) + scale_ * made_(c_, 0, at), still(1) + scale_ * made_(c_, 1, at)};
    }

    KernelBuilder &k_;
    const int length_, rows_, channels_;
    const bool adaptive_, all_;
    const float scale_; // of the kernel made in the run
    const int row_, tile_;
    int wide_ = 1; // channels of a workgroup
    RightAngle transform_;
    ImageParam u_, h_, fixed_, twiddles_;
    Var c_{"c"}, part_{"part"}, p_{"p"};
    Func made_{"made"}, points_{"points"};
};

void circular_conv_on_gpu(KernelBuilder &k) { Circular(k).build(); }

const GpuSchedule circular_conv_of_gpu{"circular_conv", circular_conv_on_gpu};

} // namespace

} // namespace longwave::schedules
