// linear on a gpu: kernels that are written out (product_in_registers); where these do not fit, tiles of
// outputs and rows; one output by the threads of a row. All read the packed weights as they lie
// (panels.h).
#include "schedules/gpu/matrix_product.h"
#include "schedules/gpu/matrix_vector.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/written_epilogue.h"
#include "schedules/linear/linear_product.h"
#include "schedules/pointwise/elementary.h"
#include <algorithm>

namespace longwave::schedules {
namespace {

// Products whose sums stay in registers, which no schedule of Halide can say: the kernel is written
// out: for many rows (gpu/matrix_product.h) and for few (gpu/matrix_vector.h).

using namespace Halide;

// The epilogue, of four outputs at once: its operands are read in fours.
gpu::DeclareFinishVectors finish_of(const KernelBuilder &k, const Product &p, const Expr &result) {
    return [&k, &p, result](gpu::Program &program) -> gpu::FinishVectors {
        std::map<std::string, gpu::Memory> memory;
        for (const ImageParam &operand : k.operands()) {
            const std::string &name = operand.name();
            memory[name] = program.buffer(name, k.is_channel_major(name) ? 1 : 4, gpu::Access::read);
        }
        const uint32_t fours = extent(p.width() / 4), rows = extent(p.rows);
        return [&k, &program, memory, result, fours, rows](const gpu::Vec4 &values,
                                                           const std::optional<gpu::Vec4> &gates,
                                                           const gpu::VectorPlace &place) {
            std::map<std::string, gpu::Vec4> read;
            gpu::Vec4 made;
            for (uint32_t i = 0; i < 4; i++) {
                const auto operand = [&](const std::string &name, const std::vector<gpu::Uint> &at) {
                    if (k.is_channel_major(name))
                        return program.load(memory.at(name), (place.four * 4 + i) * rows + place.row);
                    if (!read.contains(name))
                        read[name] = program.load_vec4(
                            memory.at(name), at.size() > 1 ? place.row * fours + place.four : place.four);
                    return read[name][i];
                };
                ExpressionScope scope{
                    {{"o", place.four * 4 + i}, {"r", place.row}}, {{"value", values[i]}}, operand};
                if (gates) scope.f32["gate"] = (*gates)[i];
                made[i] = written_value(program, result, scope);
            }
            return made;
        };
    };
}

// Declares the kernel. False, with nothing declared: sizes that it does not fit.
bool product_in_registers(KernelBuilder &k, const Product &p) {
    gpu::ProductSizes sizes{.rows = extent(p.rows),
                            .in = extent(p.in),
                            .in_row = extent(p.in_row),
                            .first = extent(p.first),
                            .blocks = extent(p.blocks),
                            .bias = p.has_bias,
                            .panels = p.panels};
    sizes.along_rows = k.asks_channel_major(); // any argument; of which is known when all are declared
    const WorkgroupLimits limits = limits_of(k.target);
    const std::vector<gpu::ProductTile> tiles = gpu::product_tiles(sizes, limits);
    const std::vector<gpu::VectorSlices> slices = gpu::vector_slices(sizes, limits);
    if (slices.empty() && tiles.empty()) return false;
    const size_t variant = k.variant(slices.empty() ? tiles.size() : slices.size());
    const Shape shape = p.y_shape();
    Var o("o"), r("r");
    const Param<float> value("value"), gate("gate");
    const Expr result = k.epilogue(shape, p.out)(p.halves == 2 ? value * sigmoid(gate) : Expr(value), {o, r});
    Func y("y");
    y(o, r) = 0.0f; // the type: the kernel below computes the values
    k.output(y, p.a.y, shape);
    if (slices.empty()) { // threads bring x row by row or channel by channel, whatever y is
        k.allow_channel_major({p.a.x.text});
        k.allow_channel_major({y.name()});
        for (const std::string &operand : k.row_operands()) k.allow_channel_major({operand});
    }
    const auto lies_so = [&](const std::string &name) { return k.is_channel_major(name); };
    sizes.x_channel_major = lies_so(p.a.x.text);
    sizes.y_channel_major = lies_so(y.name());
    sizes.along_rows = sizes.y_channel_major || std::ranges::any_of(k.row_operands(), lies_so);
    k.written = [&k, p, sizes, slices, tiles, variant, result] {
        const gpu::DeclareFinishVectors finish = finish_of(k, p, result);
        return slices.empty() ? gpu::matrix_product(sizes, tiles[variant], finish)
                              : gpu::matrix_vector(sizes, slices[variant], finish);
    };
    return true;
}

} // namespace

using namespace Halide;

namespace {

constexpr int panel_lanes = static_cast<int>(lanes);

// One output: the weights lie along the input, and so do the threads.
void one_output(KernelBuilder &k, const Product &p) {
    const int words = static_cast<int>(p.panels.words()), threads = std::min(64, power_of_two_above(words)),
              tile = std::max(1, std::min(power_of_two_above(p.rows), 64 / threads));
    const Shape shape = p.y_shape();

    // THE ALGORITHM
    Var o("o"), r("r"), h("h");
    Fold sum = Fold::sum("sum", {h, r}, words, threads, [&](const Expr &word, const std::vector<Expr> &at) {
        Expr value = 0.0f;
        for (int place = 0; place < p.of_word(); place++)
            value +=
                p.weight(0, word, place, at[0]) * p.input(place * words + word, min(at[1], p.rows - 1), 0);
        return value;
    });
    const auto result = [&](int half) { return p.finished(p.start(0, half) + sum({half, r}), 0, half); };
    Func y("y");
    y(o, r) = k.epilogue(p.halves == 2 ? result(0) * sigmoid(result(1)) : result(0), {o, r}, shape, 1);

    // THE SCHEDULE
    Var block("block"), row("row");
    y.split(r, block, row, tile, TailStrategy::GuardWithIf).reorder(o, row, block).gpu_blocks(block);
    y.gpu_threads(o, row);
    sum.compute_at(y, block, {p.halves}, tile);
    k.output(y, p.a.y, shape);
}

// Tiles of outputs by rows. A chunk of the inputs is staged in shared memory, a thread adds 4 by 4
// products of it in registers, and sums stay in shared memory from chunk to chunk (Halide has no
// registers that outlive a barrier). Each staged float is used by a whole edge of the tile: with 32
// by 64 a product costs 0.19 bytes of global reads.
class StagedTiles {
public:
    StagedTiles(KernelBuilder &k, const Product &p)
        : k_(k), p_(p), small_(k.target.shared_bytes < 32 << 10),
          width_(std::min(p.blocks > 1 && p.out / p.blocks % 32 ? panel_lanes : 32, p.width())),
          rows_(small_ || p.rows <= 32 ? 32 : 64), chunk_(p.halves == 2 ? 16 : 32) {}

    void build() {
        const Shape shape = p_.y_shape();
        // THE ALGORITHM
        const int chunks = (p_.inputs() + chunk_ - 1) / chunk_, panels = static_cast<int>(p_.panels.count());
        RDom i(0, chunk_, "i"), n(0, chunks, "n");
        // Behind the last input the weights of the last stand for any: the inputs are zero.
        const Expr input = p_.first + b_ * p_.in + min(m_, p_.in - 1);
        inputs_(r_, m_, b_) = select(m_ < p_.in, p_.x(input, min(r_, p_.rows - 1)), 0.0f);
        const Expr last = min(m_, p_.inputs() - 1);
        weights_(o_, m_, h_) = p_.weight(o_ % panel_lanes, last / p_.of_word(), last % p_.of_word(),
                                         min(o_ / panel_lanes, panels - 1) * p_.halves + h_);
        part_(h_, o_, r_, u_) = 0.0f;
        // A tile's outputs are all of one block.
        const Expr block = p_.blocks == 1 ? Expr(0) : o_ / width_ * width_ / (p_.out / p_.blocks);
        part_(h_, o_, r_, u_) += inputs_(r_, u_ * chunk_ + i, block) * weights_(o_, u_ * chunk_ + i, h_);
        sum_(h_, o_, r_) = 0.0f;
        sum_(h_, o_, r_) += part_(h_, o_, r_, n);
        const auto result = [&](int half) {
            const Expr start = p_.start(min(o_, p_.width() - 1), half);
            return p_.finished(start + sum_(half, o_, r_), o_, half);
        };
        Func y("y");
        y(o_, r_) =
            k_.epilogue(p_.halves == 2 ? result(0) * sigmoid(result(1)) : result(0), {o_, r_}, shape, p_.out);
        schedule(y, i, n);
        k_.output(y, p_.a.y, shape);
    }

private:
    // THE SCHEDULE
    static constexpr int across = 8, down = 4; // threads along the outputs; rows of a thread
    void schedule(Func y, const RDom &i, const RDom &n) {
        Var block_o("block_o"), block_r("block_r"), tile_o("tile_o"), tile_r("tile_r");
        y.tile(o_, r_, block_o, block_r, tile_o, tile_r, width_, rows_, TailStrategy::GuardWithIf)
            .split(tile_o, of_o_, thread_o_, across)
            .split(tile_r, thread_r_, of_r_, down)
            .reorder(of_o_, of_r_, thread_o_, thread_r_, block_o, block_r)
            .unroll(of_o_)
            .unroll(of_r_)
            .gpu_blocks(block_o, block_r)
            .gpu_threads(thread_o_, thread_r_);
        sum_.compute_at(y, block_o).store_in(MemoryType::GPUShared).bound_extent(h_, p_.halves);
        sum_.bound_extent(o_, width_).bound_extent(r_, rows_);
        over_threads(sum_, {});
        over_threads(sum_.update(), {n});
        part_.compute_at(sum_, thread_o_).store_in(MemoryType::Register).unroll(h_).unroll(o_).unroll(r_);
        part_.update().reorder(h_, o_, r_, i).unroll(h_).unroll(o_).unroll(r_);
        // Threads read along the inputs, as rows lie, and leave them along the rows, as they are
        // used; a row of the tile more than there are keeps their stores in different banks.
        Var outer("outer"), inner("inner"), x("x"), line("line");
        inputs_.compute_at(sum_, n)
            .store_in(MemoryType::GPUShared)
            .bound_extent(r_, rows_)
            .bound_extent(m_, chunk_)
            .bound_extent(b_, 1);
        inputs_.bound_storage(r_, rows_).align_storage(r_, rows_ + 1);
        inputs_.split(m_, outer, x, across).split(r_, line, inner, down).reorder(b_, inner, outer, x, line);
        inputs_.gpu_threads(x, line);
        weights_.compute_at(sum_, n).store_in(MemoryType::GPUShared).bound_extent(h_, p_.halves);
        weights_.bound_extent(o_, width_).bound_extent(m_, chunk_);
        weights_.split(o_, outer, x, across).split(m_, inner, line, std::min(rows_ / down, chunk_));
        weights_.reorder(h_, outer, inner, x, line).gpu_threads(x, line);
    }

    void over_threads(Stage stage, const std::vector<RVar> &outside) {
        stage.split(o_, of_o_, thread_o_, across).split(r_, thread_r_, of_r_, down);
        std::vector<VarOrRVar> order = {h_, of_o_, of_r_, thread_o_, thread_r_};
        for (const RVar &loop : outside) order.emplace_back(loop);
        stage.reorder(order).unroll(h_).unroll(of_o_).unroll(of_r_).gpu_threads(thread_o_, thread_r_);
    }

    KernelBuilder &k_;
    const Product &p_;
    const bool small_;
    const int width_, rows_, chunk_; // of a tile; inputs that are staged at once
    // o: output, r: row, m: input, h: half, u: chunk, b: block of the diagonal
    Var o_{"o"}, r_{"r"}, m_{"m"}, h_{"h"}, u_{"u"}, b_{"b"}, of_o_{"of_o"}, of_r_{"of_r"},
        thread_o_{"thread_o"}, thread_r_{"thread_r"};
    Func inputs_{"inputs"}, weights_{"weights"}, part_{"part"}, sum_{"sum"};
};

void linear_on_gpu(KernelBuilder &k, const contract::Linear &params) {
    const Product p = declare_product(k, params);
    k.params.require(!p.integer(), "'activations' of int16 are for CPUs");
    k.params.require(p.wanted < 0, "'advice' is for processors");
    if (p.out == 1) return one_output(k, p);
    if (product_in_registers(k, p)) return;
    StagedTiles(k, p).build();
}

const GpuSchedule<contract::Linear> linear_of_gpu{linear_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
