#include "compiler/planner/convolution_calls.h"
#include "compiler/planner/entry_planner.h"
#include "schedules/kernel.h"
#include "schedules/twiddles.h"
#include <fmt/format.h>
#include <optional>

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
    const std::vector<double> none;
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
                    packed[((size_t(n) * s.kernels + c) * kernel_dim + j) * s.padded + h] = static_cast<float>(w[((size_t(n) * dims[1] + *row) * s.channels + h) * kernel_dim + j]);
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
                         {{"channels", s.channels}, {"copies", s.kernels}, {"kernel_dim", kernel_dim}, {"scales", scales}, {"init_scale", expand.integer("init_scale")},
                          {"nearest", expand.integer("nearest")}, {"taps", s.taps}, {"direct", length}}}};
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

// Spectra of the kernel's partitions, [T, 2, partitions, length, copies] for each tile of channels; computed in float64 when the model is opened.
Place spectrum_of(PlannedCall &call, const Shape &s, uint32_t length, uint32_t partitions) {
    Storage &storage = call.storage();
    uint64_t tile_bytes = uint64_t(s.tile) * 2 * partitions * length * s.copies * sizeof(float);
    uint32_t tiles = s.padded / s.tile;
    bool fresh = false;
    Place spectrum{.buffer = storage.derived(fmt::format("{}.k spectrum {} x {}", call.node.layer, partitions, length), tile_bytes * tiles, &fresh), .tile_bytes = tile_bytes};
    if (!fresh) return spectrum;
    Place taps = taps_of(call, s, false);
    taps.tile_bytes = s.tile * sizeof(float);
    nlohmann::json spec{{"kernel", "spectrum"},
                        {"params",
                         {{"length", length}, {"partitions", partitions}, {"taps", s.taps}, {"copies", s.copies}, {"channels", s.channels}, {"two_sided", s.two_sided ? 1 : 0}}}};
    Step step{.name = call.node.layer + " spectrum", .layer = call.node.layer, .spec = spec.dump(), .tiles = tiles};
    step.args = {taps, Place{.buffer = storage.weights(fmt::format("twiddles64 {}", length), schedules::right_angle_twiddles(length))}, spectrum};
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
    call.weight(spectrum_of(call, s, length, 1));
    call.weight(Place{.buffer = twiddles(call, length)});
    call.write();
    return Status::ok();
}

Status partitioned(PlannedCall &call, const Shape &s) {
    uint32_t block = call.choice().length, partitions = call.choice().partitions;
    uint32_t tiles = s.padded / s.tile;
    call.kernel("long_conv_partitioned");
    call.channel_tiles(tiles, s.tile * sizeof(float));
    shape_params(call, s);
    call.param("block", block);
    call.param("partitions", partitions);
    call.read_all(0);
    // The ring of spectra of past blocks: past [T, 2, partitions, block] for each tile; this block's go to slot f mod partitions.
    uint64_t slot_bytes = uint64_t(s.tile) * 2 * sizeof(float), past_tile = slot_bytes * partitions * block;
    Place past{.buffer = call.remember("spectra", past_tile * tiles), .tile_bytes = past_tile};
    call.input(past);
    Place newest = past;
    newest.slots = partitions;
    newest.slot_bytes = slot_bytes;
    call.output(newest);
    call.write();
    uint64_t tail_tile = uint64_t(s.tile) * block * s.copies * sizeof(float);
    call.carry("tail", tail_tile * tiles, tail_tile);
    call.weight(spectrum_of(call, s, block, partitions));
    call.weight(Place{.buffer = twiddles(call, block)});
    call.scalar({.kind = Scalar::Kind::slot, .mul = 1, .modulus = partitions});
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
    }
    return Status::internal("no algorithm was chosen");
}

} // namespace longwave::compiler
