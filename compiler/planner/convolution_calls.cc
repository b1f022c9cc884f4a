#include "compiler/planner/convolution_calls.h"
#include "compiler/ops/op.h"
#include "compiler/planner/entry_planner.h"
#include "schedules/kernel.h"
#include "schedules/twiddles.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <tuple>

namespace longwave::compiler {

namespace {

using schedules::pad;

struct Shape {
    uint32_t channels, copies, kernels, taps, padded, tile; // kernels: rows of k (copies, or twice that when two-sided)
    uint32_t given;                                         // copies the node has: those of one channel are lanes, and more of zeros fill up the row
    bool two_sided;

    // The row of the node's k, or none for a row of zeros.
    std::optional<uint32_t> given_row(uint32_t kernel) const {
        const uint32_t side = kernel / copies, copy = kernel % copies;
        return copy < given ? std::optional(side * given + copy) : std::nullopt;
    }
};

Shape shape_of(const PlannedCall &call) {
    const auto &dims = call.type(1).dims;
    Shape s{.channels = dims[1], .taps = dims[2], .padded = pad(dims[1]), .given = static_cast<uint32_t>(call.node.integer("channels"))};
    s.copies = s.channels == 1 ? pad(s.given) : s.given;
    s.kernels = dims[0] / s.given * s.copies;
    s.tile = s.channels == 1 ? 1 : schedules::lanes;
    s.two_sided = call.node.integer("two_sided") != 0;
    // A whole run never looks further back than its capacity.
    if (!call.streaming()) s.taps = std::min(s.taps, call.sequence_rows());
    return s;
}

// D[c,h], for every row of the node's k: the backward ones have none.
std::vector<double> direct_term(const PlannedCall &call, const Shape &s) {
    std::vector<double> d(size_t(call.type(1).dims[0]) * s.channels, 0.0);
    const auto &given = call.constant(2);
    std::copy(given.begin(), given.end(), d.begin());
    return d;
}

// k [P(channels), kernels, taps] with D in tap 0, from constants in the artifact.
Place constant_taps(PlannedCall &call, const Shape &s) {
    const auto &k = call.constant(1);
    const auto d = direct_term(call, s);
    uint32_t given = call.type(1).dims[2];
    std::vector<float> packed(size_t(s.taps) * s.kernels * s.padded, 0.f);
    for (uint32_t c = 0; c < s.kernels; c++) {
        const auto row = s.given_row(c);
        for (uint32_t h = 0; row && h < s.channels; h++)
            for (uint32_t j = 0; j < s.taps; j++) {
                double tap = k[(size_t(*row) * s.channels + h) * given + j];
                if (j == 0) tap += d[size_t(*row) * s.channels + h];
                packed[(size_t(j) * s.kernels + c) * s.padded + h] = static_cast<float>(tap);
            }
    }
    return {.buffer = call.storage().weights(call.node.layer + ".k", packed)};
}

// The same, expanded from SGConv's parameters when the model is opened (models.md §1.1). Kept for the model's life, or only until a spectrum is made of it.
Place expanded_taps(PlannedCall &call, const Shape &s, const ir::Node &expand, bool keep) {
    Storage &storage = call.storage();
    const auto &dims = call.graph().type(expand.inputs[0]).dims; // [N, C', H, d]
    const auto &w = call.constant(expand, 0);
    uint32_t scales = dims[0], kernel_dim = dims[3];
    std::vector<float> packed(size_t(scales) * s.kernels * kernel_dim * s.padded, 0.f);
    // What is added to the first taps: D, and a short kernel that was merged into the long one.
    const auto d = direct_term(call, s);
    const bool merged = expand.inputs.size() == 2;
    const uint32_t given_length = merged ? call.graph().type(expand.inputs[1]).dims[2] : 1, length = std::min(given_length, s.taps);
    const ir::Numbers none;
    const auto &added = merged ? call.constant(expand, 1) : none;
    std::vector<float> direct(size_t(length) * s.kernels * s.padded, 0.f);
    for (uint32_t c = 0; c < s.kernels; c++) {
        const auto row = s.given_row(c);
        for (uint32_t h = 0; row && h < s.channels; h++) {
            const size_t of = size_t(*row) * s.channels + h;
            for (uint32_t j = 0; j < length; j++) {
                const double tap = (j == 0 ? d[of] : 0.0) + (merged ? added[of * given_length + j] : 0.0);
                direct[(size_t(j) * s.kernels + c) * s.padded + h] = static_cast<float>(tap);
            }
            for (uint32_t n = 0; n < scales; n++)
                for (uint32_t j = 0; j < kernel_dim; j++)
                    packed[((size_t(n) * s.kernels + c) * kernel_dim + j) * s.padded + h] =
                        static_cast<float>(w[((size_t(n) * dims[1] + *row) * s.channels + h) * kernel_dim + j]);
        }
    }

    BufferId weights = storage.weights(call.node.layer + ".kernel_list", packed), term = storage.weights(call.node.layer + ".D", direct);
    uint64_t bytes = uint64_t(s.taps) * s.kernels * s.padded * sizeof(float);
    EntryPlan &prepare = storage.prepare();
    Place taps;
    bool fresh = true;
    if (keep) taps.buffer = storage.derived(fmt::format("{}.k taps {}", call.node.layer, s.taps), bytes, &fresh);
    else {
        prepare.buffers.push_back({.name = call.node.layer + ".k", .space = Space::arena, .bytes = bytes});
        taps.buffer = static_cast<BufferId>(prepare.buffers.size() - 1);
    }
    if (!fresh) return taps;
    nlohmann::json spec{{"kernel", "expand_scales"},
                        {"params",
                         {{"channels", s.channels},
                          {"copies", s.kernels},
                          {"kernel_dim", kernel_dim},
                          {"scales", scales},
                          {"init_scale", expand.integer("init_scale")},
                          {"nearest", expand.integer("nearest")},
                          {"taps", s.taps},
                          {"direct", length}}}};
    Step step{.name = call.node.layer + " expand_scales", .layer = call.node.layer, .spec = spec.dump()};
    step.args = {Place{.buffer = weights}, Place{.buffer = term}, taps};
    prepare.steps.push_back(std::move(step));
    return taps;
}

Place taps_of(PlannedCall &call, const Shape &s, bool keep) {
    const ir::Node *expand = call.producer(1);
    return expand ? expanded_taps(call, s, *expand, keep) : constant_taps(call, s);
}

BufferId twiddles(PlannedCall &call, uint32_t length) {
    auto exact = schedules::right_angle_twiddles(length);
    return call.storage().weights(fmt::format("twiddles {}", length), std::vector<float>(exact.begin(), exact.end()));
}

// `count` partitions of `length` taps each, from tap `first` on.
struct Partitions {
    uint32_t length = 0, count = 1, first = 0;
};

// Spectra of partitions of the kernel, [T, 2, count, length, copies] for each tile of channels; computed in float64 when the model is opened.
Place spectrum_of(PlannedCall &call, const Shape &s, const Partitions &p) {
    Storage &storage = call.storage();
    uint64_t tile_bytes = uint64_t(s.tile) * 2 * p.count * p.length * s.copies * sizeof(float);
    uint32_t tiles = s.padded / s.tile, used = std::min(s.taps - p.first, p.count * p.length);
    bool fresh = false;
    Place spectrum{.buffer = storage.derived(fmt::format("{}.k spectrum {} x {} from {}", call.node.layer, p.count, p.length, p.first),
                                             tile_bytes * tiles, &fresh),
                   .tile_bytes = tile_bytes};
    if (!fresh) return spectrum;
    Place taps = taps_of(call, s, false);
    taps.offset += uint64_t(p.first) * s.kernels * s.padded * sizeof(float);
    taps.tile_bytes = s.tile * sizeof(float);
    nlohmann::json spec{{"kernel", "spectrum"},
                        {"params",
                         {{"length", p.length},
                          {"partitions", p.count},
                          {"taps", used},
                          {"copies", s.copies},
                          {"channels", s.channels},
                          {"two_sided", s.two_sided ? 1 : 0}}}};
    Step step{.name = call.node.layer + " spectrum", .layer = call.node.layer, .spec = spec.dump(), .tiles = tiles};
    step.args = {taps, Place{.buffer = storage.weights(fmt::format("twiddles64 {}", p.length), schedules::right_angle_twiddles(p.length))}, spectrum};
    storage.prepare().steps.push_back(std::move(step));
    return spectrum;
}

void shape_params(PlannedCall &call, const Shape &s) {
    call.param("channels", s.channels);
    call.param("copies", s.copies);
}

Status direct(PlannedCall &call, const Shape &s) {
    call.kernel("long_conv_direct");
    shape_params(call, s);
    call.param("taps", s.taps);
    call.param("rows", call.rows());
    call.read_ring(0);
    call.weight(taps_of(call, s, true));
    call.write();
    return Status::ok();
}

Status right_angle(PlannedCall &call, const Shape &s) {
    uint32_t length = call.choice().length;
    call.kernel("long_conv_right_angle");
    call.channel_tiles(s.padded / s.tile, s.tile * sizeof(float));
    shape_params(call, s);
    call.param("length", length);
    call.param("rows", call.rows());
    if (s.two_sided) call.clear_tail(0);
    call.read_all(0);
    call.weight(spectrum_of(call, s, {.length = length}));
    call.weight(Place{.buffer = twiddles(call, length)});
    call.write();
    return Status::ok();
}

// What a call of long_conv_partitioned remembers and reads, for each tile of channels.
struct PartitionedPlaces {
    Place past, newest;   // ring of spectra of past blocks [T, 2, partitions, block]; this block's go to slot f mod partitions
    Place tail, tail_out; // the imaginary part of the last block
    Place spectrum, twiddles;
};

PartitionedPlaces places_of(PlannedCall &call, const Shape &s, const Partitions &p, const std::string &prefix) {
    const uint32_t tiles = s.padded / s.tile;
    PartitionedPlaces places;
    const uint64_t slot_bytes = uint64_t(s.tile) * 2 * sizeof(float), past_tile = slot_bytes * p.count * p.length;
    places.past = places.newest = Place{.buffer = call.remember(prefix + "spectra", past_tile * tiles), .tile_bytes = past_tile};
    places.newest.slots = p.count;
    places.newest.slot_bytes = slot_bytes;
    const uint64_t tail_tile = uint64_t(s.tile) * p.length * s.copies * sizeof(float);
    std::tie(places.tail, places.tail_out) = call.carried(prefix + "tail", tail_tile * tiles, tail_tile);
    places.spectrum = spectrum_of(call, s, p);
    places.twiddles = Place{.buffer = twiddles(call, p.length)};
    return places;
}

Scalar newest_slot(const Partitions &p) { return {.kind = Scalar::Kind::slot, .mul = 1, .modulus = p.count}; }

Status partitioned(PlannedCall &call, const Shape &s) {
    const Partitions p{.length = call.choice().length, .count = call.choice().partitions};
    call.kernel("long_conv_partitioned");
    call.channel_tiles(s.padded / s.tile, s.tile * sizeof(float));
    shape_params(call, s);
    call.param("block", p.length);
    call.param("partitions", p.count);
    const PartitionedPlaces places = places_of(call, s, p, "");
    call.read_all(0);
    call.input(places.past);
    call.input(places.tail);
    call.weight(places.spectrum);
    call.weight(places.twiddles);
    call.scalar(newest_slot(p));
    call.output(places.newest);
    call.write();
    call.output(places.tail_out);
    return Status::ok();
}

// The taps from 2 large blocks on. In large block Q the input of large block Q − 1 is complete: its tiles of channels are computed in turn, at steps spread
// over the R blocks of Q, into rows that large block Q + 1 adds to its own. Until then they lie in two slots, one written and one read. Layers begin their turns
// one block after another, for those of few tiles.
Status nonuniform(PlannedCall &call, const Shape &s) {
    LW_TRY(partitioned(call, s));
    const ConvolutionChoice &choice = call.choice();
    const Partitions p{.length = choice.tail_length, .count = choice.tail_partitions, .first = 2 * choice.tail_length};
    const uint32_t ratio = choice.tail_length / choice.length, tiles = s.padded / s.tile;
    const uint64_t row_bytes = uint64_t(s.copies) * s.padded * sizeof(float), large_bytes = row_bytes * p.length;
    const PartitionedPlaces places = places_of(call, s, p, "large ");
    const Place u = call.rows_of_large_blocks(0, p.length, 1);
    const Place rows{
        .buffer = call.remember("large rows", 2 * large_bytes), .slot_bytes = large_bytes, .tile_bytes = s.tile * sizeof(float), .slots = 2};

    const nlohmann::json spec{{"kernel", "long_conv_partitioned"},
                              {"params", {{"channels", s.channels}, {"copies", s.copies}, {"block", p.length}, {"partitions", p.count}}}};
    const auto is_convolution = [](const ir::Node &node) { return std::string_view(node.op->name) == "long_conv"; };
    const auto turn = static_cast<uint32_t>(std::count_if(call.graph().nodes.data(), &call.node, is_convolution));
    for (uint32_t first = 0, next; first < tiles; first = next) {
        const uint32_t slice = first * ratio / tiles, phase = (slice + turn) % ratio;
        for (next = first; next < tiles && next * ratio / tiles == slice;) next++;
        const auto from = [&](Place place) {
            place.offset += first * place.tile_bytes;
            return place;
        };
        Step step{.name = call.node.layer + " long_conv_partitioned large",
                  .layer = call.node.layer,
                  .spec = spec.dump(),
                  .period = ratio,
                  .phase = phase,
                  .tiles = next - first};
        step.args = {from(u),        from(places.past),   from(places.tail), from(places.spectrum), places.twiddles,
                     newest_slot(p), from(places.newest), from(rows),        from(places.tail_out)};
        call.also(std::move(step));
    }

    // Block by block through the slot that is not being written.
    Place ready = rows;
    ready.slots = 2 * ratio;
    ready.slot_bytes = large_bytes / ratio;
    ready.slot_add = ratio;
    call.add(ready);
    return Status::ok();
}

} // namespace

Status plan_convolution(PlannedCall &call) {
    if (!call.graph().constant(call.node.inputs[2])) return Status::input("D must be a constant");
    Shape s = shape_of(call);
    switch (call.choice().algorithm) {
    case Algorithm::direct: return direct(call, s);
    case Algorithm::right_angle: return right_angle(call, s);
    case Algorithm::partitioned: return partitioned(call, s);
    case Algorithm::nonuniform: return nonuniform(call, s);
    }
    return Status::internal("no algorithm was chosen");
}

} // namespace longwave::compiler
