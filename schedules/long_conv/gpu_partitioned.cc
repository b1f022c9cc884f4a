// long_conv_partitioned on a gpu: one block of a long convolution in one dispatch. Its transform
// and the sum of products with the spectra of all partitions lie in shared memory, 16 bytes a
// point. The three results are one definition, as two would be two dispatches: row, tail and
// spectrum of the same position, the latter twice where there are two copies.
#include "schedules/contract/kernels/long_conv_blocks.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"
#include "schedules/transforms/gpu_butterflies.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int bytes_of_both_points = 16; // of the transform and of the products

class PartitionedBlock {
public:
    PartitionedBlock(KernelBuilder &k, const contract::LongConvPartitioned &p)
        : k_(k), block_(p.block), partitions_(p.partitions), copies_(p.copies), channels_(p.channels),
          row_(static_cast<int>(pad(extent(channels_)))), tile_(std::min(row_, 16)), tiles_(p.tiles),
          transform_(block_, Float(32), [this](const Expr &i) { return Expr(twiddles_(i)); }) {
        require_fits(k, "block", block_, bytes_of_both_points);
        k.params.require(p.length.or_else(block_) == block_, "'length' is 'block' on a GPU");
        k.params.require(tiles_ == 1 || tiles_ == row_ / tile_, "'tiles' must be all of them, or one");
        wide_ = lanes_together(k, tile_, int64_t{block_} * bytes_of_both_points);
        const int threads = loop_threads(k.target) / wide_;
        auto accesses = SharedPlaces::passes(block_, transform_.radices(), threads);
        accesses.push_back({[this](int n) { return std::min(n, block_ - 1); }, threads});
        places_ =
            SharedPlaces(block_, wide_, accesses, k.target.shared_bytes / (bytes_of_both_points * wide_));
    }

    void build() {
        const int spectra = 2 * tile_ * partitions_;
        u_ = k_.input(a_.u, of_tiles({{extent(tile_), 1}, {extent(block_), row_}}, tile_));
        past_ = k_.input(a_.past, of_tiles(dense({tile_, 2, partitions_, block_}), spectra * block_));
        tail_ = k_.input(a_.tail, of_tiles(dense({tile_, copies_, block_}), tile_ * copies_ * block_));
        spectrum_ = k_.weight(a_.spectrum, of_tiles(dense({tile_, 2, partitions_, block_, copies_}),
                                                    spectra * block_ * copies_));
        twiddles_ = k_.weight(a_.twiddles, dense({2 * (block_ - 1)}));
        // Rows are the last dimension of an epilogue's operands.
        const Dim tiles = {extent(tiles_), tile_}, block = {extent(block_), copies_ * row_};
        Shape operands = {{extent(tile_), 1}, {extent(copies_), row_}};
        if (tiles_ > 1) operands.push_back(tiles);
        operands.push_back(block);
        epilogue_ = k_.tile_epilogue(operands, channels_);
        slot_ = k_.scalar(a_.slot, partitions_ - 1);

        // THE ALGORITHM
        const int last = static_cast<int>(transform_.radices().size()) - 1;
        newest_(v_, part_, p_, g_) = undef<float>();
        for (int level = 0; level <= last; level++) forward(level);
        products();
        for (int level = last; level > 0; level--) inverse(level);
        write();

        // THE SCHEDULE
        share(newest_, LoopLevel(y_, group_), wide_, places_.count());
        share(z_, LoopLevel(y_, m_), wide_, places_.count());
        const Shape y = {{extent(tile_), 1}, {extent(copies_), row_}, block},
                    newest = {{extent(tile_), 1}, {2, tile_}, {extent(block_), spectra}},
                    tail = dense({tile_, copies_, block_});
        // Of y_: lane, copy, position, part, tile.
        const auto shape = [&](int copy, int position, int part, int tile) {
            return Shape{{extent(tile_), 1},
                         {extent(copies_), copy},
                         {extent(block_), position},
                         {2, part},
                         {extent(tiles_), tile}};
        };
        k_.outputs(y_, {k_.result(a_.newest, shape(0, spectra, tile_, spectra * block_),
                                  of_tiles(newest, spectra * block_)),
                        k_.result(a_.y, shape(row_, copies_ * row_, 0, tile_), of_tiles(y, tile_)),
                        k_.result(a_.tail_out, shape(tile_, tile_ * copies_, 0, tile_ * copies_ * block_),
                                  of_tiles(tail, tile_ * copies_ * block_))});
    }

private:
    Shape of_tiles(Shape shape, int stride) const {
        if (tiles_ > 1) shape.push_back({extent(tiles_), stride});
        return shape;
    }
    Expr at(const ImageParam &from, std::vector<Expr> where) const {
        if (tiles_ > 1) where.emplace_back(g_);
        return from(where);
    }

    Butterflies butterflies(int level) const {
        return Butterflies(block_, transform_.blocks(level), transform_.radices()[static_cast<size_t>(level)],
                           loop_threads(k_.target) / wide_);
    }

    void forward(int level) {
        const Butterflies b = butterflies(level);
        std::vector<Complex> x;
        const std::vector<Expr> places = b.places(places_);
        for (size_t i = 0; i < places.size(); i++)
            x.push_back(level == 0 ? Complex{at(u_, {v_, b.at[i]}), Expr()}
                                   : read_buffer(newest_, {g_})(places[i]));
        transform_.forward(x, level, b.block);
        b.store(newest_, places_, x);
    }

    void products() {
        const auto kernel = [&](const Expr &q) {
            return Complex{at(spectrum_, {v_, 0, q, p_, m_}), at(spectrum_, {v_, 1, q, p_, m_})};
        };
        const Complex first = read_buffer(newest_, {g_})(places_(p_)) * kernel(0);
        sum_(v_, p_, m_, g_) = Tuple(first.re, first.im);
        if (partitions_ > 1) {
            RDom q(1, partitions_ - 1, "q");
            const Expr where = wrapped(slot_ - q, partitions_);
            const Complex term =
                Complex{at(past_, {v_, 0, where, p_}), at(past_, {v_, 1, where, p_})} * kernel(q);
            // Each element reads itself alone, so either may be stored first.
            sum_(v_, p_, m_, g_) =
                Tuple(sum_(v_, p_, m_, g_)[0] + term.re, sum_(v_, p_, m_, g_)[1] + term.im);
        }
        const Butterflies each(block_, 1, 1, loop_threads(k_.target) / wide_);
        const Expr at_each = each.at[0];
        z_(v_, part_, p_, m_, g_) = undef<float>();
        each.store(z_, places_, {{sum_(v_, at_each, m_, g_)[0], sum_(v_, at_each, m_, g_)[1]}});
        sum_.compute_at(z_, each.d.x).store_in(MemoryType::Register);
    }

    std::vector<Complex> back(const Butterflies &b, int level) const {
        std::vector<Complex> x;
        for (const Expr &place : b.places(places_)) x.push_back(read_buffer(z_, {m_, g_})(place));
        transform_.inverse(x, level, b.block);
        return x;
    }
    void inverse(int level) {
        const Butterflies b = butterflies(level);
        b.store(z_, places_, back(b, level));
    }

    void write() {
        const Butterflies b = butterflies(0);
        const std::vector<Complex> x = back(b, 0);
        const std::vector<Expr> places = b.places(places_);
        std::vector<Expr> positions, parts, spectra, re, im;
        for (size_t i = 0; i < x.size(); i++)
            for (int part : {0, 1}) {
                positions.push_back(b.at[i]), parts.emplace_back(part);
                spectra.push_back(newest_(v_, part, places[i], g_));
                re.push_back(x[i].re), im.push_back(x[i].im);
            }
        // The update reads none of the three.
        y_(v_, m_, p_, part_, g_) = Tuple(undef<float>(), undef<float>(), undef<float>());
        const Expr position = gather(positions);
        std::vector<Expr> where = {v_, m_};
        if (tiles_ > 1) where.emplace_back(g_);
        where.push_back(position);
        y_(v_, m_, scatter(positions), scatter(parts), g_) =
            Tuple(gather(spectra), epilogue_(gather(re) + at(tail_, {v_, m_, position}), where), gather(im));
        Var channel("channel");
        y_.update()
            .allow_race_conditions()
            .split(v_, group_, channel, wide_)
            .reorder(b.d.x, channel, b.d.y, m_, group_, g_)
            .gpu_blocks(group_, g_)
            .gpu_threads(channel, b.d.y);
    }

    KernelBuilder &k_;
    const contract::LongConvPartitioned::Arguments<contract::Names> a_ =
        contract::names_of<contract::LongConvPartitioned>();
    const int block_, partitions_, copies_, channels_, row_, tile_, tiles_;
    int wide_ = 1; // channels of a workgroup
    SharedPlaces places_;
    RightAngle transform_;
    ImageParam u_, past_, tail_, spectrum_, twiddles_;
    KernelBuilder::Epilogue epilogue_;
    Expr slot_;
    // lane of a tile, position, copy, part, tile; lanes of a workgroup
    Var v_{"v"}, p_{"p"}, m_{"m"}, part_{"part"}, g_{"g"}, group_{"group"};
    Func newest_{"newest"}, sum_{"sum"}, z_{"z"}, y_{"block"};
};

void long_conv_partitioned_on_gpu(KernelBuilder &k, const contract::LongConvPartitioned &p) {
    PartitionedBlock(k, p).build();
}

const GpuSchedule<contract::LongConvPartitioned> long_conv_partitioned_of_gpu{long_conv_partitioned_on_gpu,
                                                                              Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
