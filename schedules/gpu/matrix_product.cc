#include "schedules/gpu/matrix_product.h"
#include <algorithm>

namespace longwave::gpu {

namespace {

class MatrixProduct {
public:
    MatrixProduct(const ProductSizes &sizes, const ProductTile &tile, const DeclareFinishVectors &finish)
        : sizes_(sizes), tile_(tile), halves_(sizes.panels.halves), of_word_(sizes.panels.of_word()),
          all_panels_(sizes.panels.count() * halves_),
          p_("linear_registers", {tile.threads(), 1, 1},
             {(all_panels_ / sizes.blocks + tile.panels() - 1) / tile.panels(),
              (sizes.rows + tile.tile_rows() - 1) / tile.tile_rows(), sizes.blocks}),
          b_(p_, sizes_, 4, finish) {
        p_.shared(tile.shared_floats(), 4);
    }

    Program run() {
        thread_ = p_.thread();
        panel_ = p_.group(0) * tile_.panels();
        input_ = p_.u32(sizes_.first / 4);
        if (sizes_.blocks > 1) { // of the diagonal: a tile lies in one of them
            const Uint block = p_.group(2);
            panel_ = panel_ + block * (all_panels_ / sizes_.blocks);
            input_ = input_ + block * (sizes_.in / 4);
        }
        row_ = p_.group(1) * tile_.tile_rows();
        if (sizes_.along_rows) {
            line_ = thread_ & (tile_.down - 1);
            lane_ = thread_ >> p_.u32(log2_of(tile_.down));
        } else {
            lane_ = thread_ & (tile_.across - 1);
            line_ = thread_ >> p_.u32(log2_of(tile_.across));
        }
        find_sources();
        begin_sums();
        if (const uint32_t chunks = sizes_.in / chunk) {
            for (const Vec4 &four : read(p_.u32(0))) next_.push_back(keep(four));
            p_.loop(chunks, [&](Uint iteration) {
                std::vector<Vec4> fours;
                for (const Vec4Register &one : next_) fours.push_back(get(one));
                stage(fours);
                p_.barrier();
                // Under way while this chunk is multiplied. The last iteration reads its own again.
                if (chunks > 1)
                    fours = read(select(iteration + 1 < p_.u32(chunks), iteration + 1, iteration));
                multiply(inputs);
                for (size_t i = 0; i < fours.size(); i++) set(next_[i], fours[i]);
                p_.barrier();
            });
        }
        if (const uint32_t rest = sizes_.in % chunk / 4) {
            stage(read_rest(rest));
            p_.barrier();
            multiply(rest);
        }
        write();
        p_.drop_unused();
        return std::move(p_);
    }

private:
    static constexpr uint32_t chunk = ProductTile::chunk, inputs = chunk / 4; // in fours
    using Vec4Register = std::array<Register, 4>;

    Vec4Register keep(const Vec4 &of) {
        return {p_.keep(of[0]), p_.keep(of[1]), p_.keep(of[2]), p_.keep(of[3])};
    }
    Vec4 get(const Vec4Register &of) { return {p_.get(of[0]), p_.get(of[1]), p_.get(of[2]), p_.get(of[3])}; }
    void set(const Vec4Register &to, const Vec4 &of) {
        for (size_t i = 0; i < 4; i++) p_.set(to[i], of[i]);
    }
    Uint at_most(Uint value, uint32_t most) { return select(value < p_.u32(most), value, p_.u32(most)); }

    // ---- from memory to shared memory ----
    // Each thread brings some fours of inputs and some of weights. Neighbours bring what lies side
    // by side. Where there is less to bring than threads, several read the same and one stores it.
    struct Source {
        Uint first;  // in its buffer, of chunk 0: a four, or the first of four floats
        Uint within; // of a chunk, along the inputs: fours of x, words of w
        Uint target; // in shared memory
        bool all;    // every thread stores
        uint32_t count;
    };

    uint32_t tasks(uint32_t fours) const { return (fours + tile_.threads() - 1) / tile_.threads(); }

    void find_sources() {
        const uint32_t threads = tile_.threads(), x_fours = tile_.tile_rows() * inputs;
        for (uint32_t i = 0; i < tasks(x_fours); i++) {
            const Uint task = (thread_ & (std::min(threads, x_fours) - 1)) + i * threads;
            const bool by_channel = sizes_.x_channel_major;
            const Uint within = by_channel ? task >> p_.u32(log2_of(tile_.tile_rows())) : task & (inputs - 1),
                       line = by_channel ? task & (tile_.tile_rows() - 1) : task >> p_.u32(log2_of(inputs));
            Uint row = row_ + line;
            if (sizes_.rows % tile_.tile_rows()) row = at_most(row, sizes_.rows - 1);
            const Uint from = (input_ + within) * x_step() + (by_channel ? row : row * (sizes_.in_row / 4)),
                       to = within * tile_.line_fours() + line;
            x_sources_.push_back({from, within, to, x_fours >= threads, x_fours});
        }
        const uint32_t of_panel = chunk / of_word_ * 4, w_fours = tile_.panels() * of_panel;
        for (uint32_t i = 0; i < tasks(w_fours); i++) {
            const Uint task = (thread_ & (std::min(threads, w_fours) - 1)) + i * threads;
            const Uint place = task & (of_panel - 1), of_tile = task >> p_.u32(log2_of(of_panel));
            Uint panel = panel_ + of_tile;
            if (all_panels_ % tile_.panels()) panel = at_most(panel, all_panels_ - 1);
            const Uint word = place >> p_.u32(2), column = place & 3u;
            const Uint from = panel * static_cast<uint32_t>(sizes_.panels.stride() / 4) + place;
            const Uint to = of_tile * tile_.panel_fours() + word * (of_word_ * 4) + column + tile_.x_fours();
            w_sources_.push_back({from, word, to, w_fours >= threads, w_fours});
        }
    }

    // From four inputs of a row to the next four, in elements of x.
    uint32_t x_step() const { return sizes_.x_channel_major ? 4 * sizes_.rows : 1; }
    Vec4 load_x(Uint first) {
        if (!sizes_.x_channel_major) return p_.load_vec4(b_.x, first);
        Vec4 made;
        for (uint32_t i = 0; i < 4; i++) made[i] = p_.load(b_.x, first + i * sizes_.rows);
        return made;
    }

    std::vector<Vec4> read(Uint iteration) {
        std::vector<Vec4> made;
        for (const Source &one : x_sources_)
            made.push_back(load_x(one.first + iteration * (inputs * x_step())));
        for (const Source &one : w_sources_)
            made.push_back(p_.load_vec4(b_.w, one.first + iteration * (chunk / of_word_ * 4)));
        return made;
    }

    // Less than a chunk. The last four and the last word stand for those behind them, which nobody
    // multiplies.
    std::vector<Vec4> read_rest(uint32_t rest) {
        const uint32_t chunks = sizes_.in / chunk, words = chunk / of_word_;
        std::vector<Vec4> made;
        for (const Source &one : x_sources_) {
            const Uint within = at_most(one.within, rest - 1) + chunks * inputs;
            made.push_back(load_x(one.first - one.within * x_step() + within * x_step()));
        }
        for (const Source &one : w_sources_) {
            const Uint word = at_most(one.within, sizes_.panels.words() - chunks * words - 1);
            made.push_back(p_.load_vec4(b_.w, one.first - one.within * 4 + word * 4 + chunks * words * 4));
        }
        return made;
    }

    void stage(const std::vector<Vec4> &fours) {
        for (size_t i = 0; i < fours.size(); i++) {
            const bool of_x = i < x_sources_.size();
            const Source &source = of_x ? x_sources_[i] : w_sources_[i - x_sources_.size()];
            const auto store = [&] {
                if (of_x) return p_.store_shared_vec4(source.target, fours[i]);
                for (uint32_t place = 0; place < of_word_; place++)
                    p_.store_shared_vec4(source.target + place * 4, b_.widened(fours[i], place));
            };
            if (source.all) store();
            else p_.when(thread_ < p_.u32(source.count), store);
        }
    }

    // ---- sums ----
    // Of a thread: its rows are `down` apart, its fours are `across` apart, so that neighbours read
    // side by side. Of a four of gates the values come before.
    uint32_t results() const { return tile_.fours / halves_; } // fours of results
    // The four among those of a row of results.
    Uint four_of(uint32_t result) {
        return (panel_ >> p_.u32(halves_ - 1)) * 4u + lane_ + result * tile_.across;
    }

    void begin_sums() {
        for (uint32_t four = 0; four < tile_.fours; four++) {
            Uint at = four_of(four / halves_);
            if (guarded()) at = at_most(at, sizes_.width() / 4 - 1);
            const Vec4 start = b_.start(at, four % halves_);
            for (uint32_t row = 0; row < tile_.rows; row++) sums_.push_back(keep(start));
        }
    }
    bool guarded() const { return all_panels_ % tile_.panels() != 0; }
    Vec4Register &sum(uint32_t four, uint32_t row) { return sums_[four * tile_.rows + row]; }

    void multiply(uint32_t count) { // so many fours of inputs
        std::vector<Vec4> sums;
        for (const Vec4Register &one : sums_) sums.push_back(get(one));
        // Vec4 lanes share a panel; that of the gates lies behind that of the values.
        const Uint of_lane =
            (lane_ >> p_.u32(2)) * (halves_ * tile_.panel_fours()) + (lane_ & 3u) + tile_.x_fours();
        const auto load_row = [&](uint32_t row, uint32_t input) {
            return p_.load_shared_vec4(line_ + (input * tile_.line_fours() + row * tile_.down));
        };
        const auto load_weights = [&](uint32_t four, uint32_t input, uint32_t i) {
            const uint32_t place = panel_of(four) * tile_.panel_fours() + (input * 4 + i) * 4;
            return p_.load_shared_vec4(of_lane + place);
        };
        const auto add = [&](uint32_t row, uint32_t four, const Float &x, const Vec4 &weights) {
            Vec4 &to = sums[four * tile_.rows + row];
            for (size_t o = 0; o < 4; o++) to[o] = fma(x, weights[o], to[o]);
        };
        // What fewer registers hold stays in them while the other passes by.
        const bool weights_stay = 4 * tile_.fours < tile_.rows;
        for (uint32_t input = 0; input < count; input++) {
            std::vector<Vec4> held;
            if (weights_stay) {
                for (uint32_t n = 0; n < 4 * tile_.fours; n++)
                    held.push_back(load_weights(n % tile_.fours, input, n / tile_.fours));
                for (uint32_t row = 0; row < tile_.rows; row++) {
                    const Vec4 x = load_row(row, input);
                    for (uint32_t n = 0; n < 4 * tile_.fours; n++)
                        add(row, n % tile_.fours, x[n / tile_.fours], held[n]);
                }
                continue;
            }
            for (uint32_t row = 0; row < tile_.rows; row++) held.push_back(load_row(row, input));
            for (uint32_t n = 0; n < 4 * tile_.fours; n++) {
                const Vec4 weights = load_weights(n % tile_.fours, input, n / tile_.fours);
                for (uint32_t row = 0; row < tile_.rows; row++)
                    add(row, n % tile_.fours, held[row][n / tile_.fours], weights);
            }
        }
        for (size_t i = 0; i < sums.size(); i++) set(sums_[i], sums[i]);
    }
    // The panel of the tile that holds this four of the first lanes.
    uint32_t panel_of(uint32_t four) const {
        return four / halves_ * halves_ * (tile_.across / 4) + four % halves_;
    }

    // ---- results ----
    void write() {
        for (uint32_t result = 0; result < results(); result++) {
            const Uint four = four_of(result);
            for (uint32_t i = 0; i < tile_.rows; i++) {
                const Uint row = row_ + line_ + i * tile_.down;
                const auto store = [&] {
                    std::vector<Vec4> sums;
                    for (uint32_t half = 0; half < halves_; half++)
                        sums.push_back(get(sum(result * halves_ + half, i)));
                    b_.store({four, row}, sums);
                };
                const Bool row_exists = row < p_.u32(sizes_.rows), exists = four < p_.u32(sizes_.width() / 4);
                const bool rows_guarded = sizes_.rows % tile_.tile_rows() != 0;
                if (rows_guarded && guarded()) p_.when(row_exists & exists, store);
                else if (rows_guarded || guarded()) p_.when(rows_guarded ? row_exists : exists, store);
                else store();
            }
        }
    }

    const ProductSizes sizes_;
    const ProductTile tile_;
    const uint32_t halves_, of_word_, all_panels_;
    Program p_;
    ProductBuffers b_;
    Uint thread_, panel_, row_, input_, lane_, line_; // of the tile: its first panel, row and input
    std::vector<Source> x_sources_, w_sources_;
    std::vector<Vec4Register> next_, sums_; // what comes next; by four and row
};

} // namespace

std::vector<ProductTile> product_tiles(const ProductSizes &sizes, const schedules::WorkgroupLimits &limits) {
    const schedules::Panels &panels = sizes.panels;
    if (panels.out == 1 || panels.format == schedules::WeightFormat::int4) return {};
    if (sizes.in % 4 || sizes.in_row % 4 || sizes.first % 4) return {};
    const uint32_t all = panels.count() * panels.halves;
    // Large tiles read less, small ones keep more of a device busy. 32 registers are for addresses
    // and what comes next. A third of the others hold sums, the rest what is multiplied (docs/gpu.md).
    constexpr uint32_t enough = 128; // workgroups
    constexpr std::array<ProductTile, 3> alone{{{8, 1, 16, 16}, {8, 1, 16, 8}, {4, 1, 8, 8}}},
        gated{{{4, 2, 16, 16}, {4, 2, 16, 8}, {4, 2, 8, 16}}};
    std::vector<ProductTile> found;
    size_t best = 0;
    bool busy = false; // the best makes enough workgroups
    for (ProductTile tile : panels.halves == 2 ? gated : alone) {
        tile.gap = 4 / panels.halves;
        while (tile.sums() > (limits.registers - 32) / 3) tile.rows /= 2;
        // Narrow matrices: more rows instead.
        while (tile.across > 4 && tile.panels() / 2 >= all) tile.across /= 2, tile.down *= 2;
        if (tile.shared_floats() * 4 > limits.shared_bytes || tile.threads() > limits.threads) continue;
        // Words that are taken apart leave fewer registers for inputs on their way.
        while (panels.of_word() > 1 && 2 * tile.rows > tile.across) tile.rows /= 2;
        if (tile.rows > tile.across) continue; // a thread would bring too many inputs
        if (sizes.blocks > 1 && all / sizes.blocks % tile.panels()) continue;
        if (std::ranges::find(found, tile) != found.end()) continue;
        if (!busy) best = found.size();
        found.push_back(tile);
        const uint64_t across = (all + tile.panels() - 1) / tile.panels(),
                       down = (sizes.rows + tile.tile_rows() - 1) / tile.tile_rows();
        busy = busy || across * down >= enough;
    }
    // With few registers only the first tile spills nowhere: its threads bring the least. What has
    // fewer rows gets fewer sums and threads.
    if (!found.empty() && limits.few_registers()) {
        ProductTile tile = found.front();
        while (tile.rows > 1 && tile.tile_rows() / 2 >= sizes.rows) tile.rows /= 2;
        while (tile.down > 8 && tile.tile_rows() / 2 >= sizes.rows) tile.down /= 2;
        return {tile};
    }
    if (best > 0) std::rotate(found.begin(), found.begin() + static_cast<ptrdiff_t>(best), found.end());
    return found;
}

Program matrix_product(const ProductSizes &sizes, const ProductTile &tile,
                       const DeclareFinishVectors &finish) {
    return MatrixProduct(sizes, tile, finish).run();
}

} // namespace longwave::gpu
