#include "tools/cli/check/streaming_check.h"
#include "formats/artifact/precision.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/output/text.h"
#include "tools/cli/check/window_check.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace longwave::cli {
namespace {

using Rows = std::vector<std::vector<float>>; // by output, all rows in order

const void *tick(const Model &model, const Sequence &in, size_t at) {
    return static_cast<const uint8_t *>(in.data(0)) +
           at * 4 * (model.inputs[0].kind == LW_TOKENS ? 1 : model.inputs[0].width);
}

// Streams the first `ticks` of the sequence in pushes of the sizes `size()` gives.
template <class Size>
Status stream(const Model &model, const Sequence &in, size_t ticks, Stream &stream, Size size, Rows &rows) {
    rows.assign(model.stream_outputs.size(), {});
    const auto keep = [&](const StreamRow &row) {
        rows[row.index].insert(rows[row.index].end(), row.data, row.data + row.width);
    };
    LW_TRY(stream.reset());
    for (size_t at = 0; at < ticks;) {
        const size_t n = std::min<size_t>(size(), ticks - at);
        LW_TRY(stream.push(tick(model, in, at), n, keep));
        at += n;
    }
    return stream.finish(keep);
}

bool same_bits(const Rows &a, const Rows &b) {
    for (size_t i = 0; i < a.size(); i++)
        if (a[i].size() != b[i].size() ||
            (!a[i].empty() && std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0))
            return false;
    return true;
}

// The largest difference of n values, relative to the peak of the expected ones.
double distance(const float *found, const float *expected, size_t n) {
    double peak = 0, error = 0;
    for (size_t k = 0; k < n; k++) {
        peak = std::max<double>(peak, std::fabs(expected[k]));
        const double difference = std::fabs(static_cast<double>(found[k]) - expected[k]);
        error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
    }
    return peak > 0 ? error / peak : error;
}

// All rows of the stream, and no others, are those of the windows.
Status compare_windows(const Model &model, const Rows &streamed, const Rows &windows, Proof &proof) {
    for (size_t i = 0; i < windows.size(); i++) {
        const std::vector<float> &a = streamed[i], &b = windows[i];
        const std::string output = std::string("output ") + model.stream_outputs[i].name;
        if (a.empty() || a.size() != b.size())
            return Status::check(output +
                                 format(": the stream gave %zu values, its windows %zu", a.size(), b.size()));
        proof.rows += a.size() / model.stream_outputs[i].width;
        proof.largest_error = std::max(proof.largest_error, distance(a.data(), b.data(), a.size()));
    }
    proof.compared = true;
    return {};
}

// Row r of the stream is row r of the whole; a whole output without a time axis is the stream's last row.
Status compare(const Model &model, const Rows &streamed, const Rows &whole, Proof &proof) {
    for (size_t i = 0; i < model.run_outputs.size(); i++) {
        const lw_output_info &output = model.run_outputs[i];
        const int j = model.stream_output(output.name);
        if (j < 0) continue;
        const auto &a = streamed[static_cast<size_t>(j)];
        const auto &b = whole[i];
        size_t from = 0, count = std::min(a.size(), b.size());
        if (b.size() == output.width && a.size() > b.size()) from = a.size() - output.width;
        if (count == 0)
            return Status::check(std::string("output ") + output.name +
                                 ": the stream gave no row to compare");
        proof.rows += count / output.width;
        proof.largest_error = std::max(proof.largest_error, distance(a.data() + from, b.data(), count));
        proof.compared = true;
    }
    return {};
}

} // namespace

double stream_limit(const Model &model) { return artifact::stream_limit(double{model.info.error_limit}); }

Expected<Proof> prove_stream(const Model &model, unsigned cuts, uint32_t entry) {
    Proof proof;
    proof.variant = model.info.variant;
    proof.limit = stream_limit(model);
    const size_t block = model.entry(entry).block;
    proof.block = static_cast<uint32_t>(block);
    proof.window = window_of(model);
    if (proof.window) proof.limit = 0;
    proof.delay = model.entry(entry).delay;
    // Every slot of a window's ring comes to be the newest of a full window.
    const size_t ticks = proof.window         ? 2 * size_t{proof.window}
                         : model.info.has_run ? model.info.run_capacity
                                              : 100 * block;
    proof.ticks = ticks;
    proof.cut_ticks = std::min(ticks, std::max<size_t>(8 * block, 512) + block / 2);
    const Sequence in = made_up(model, ticks, 7);
    LW_ASSIGN(Stream stream_of, Stream::create(model, LW_F32, entry));
    const auto by_blocks = [&] { return block; };
    Random random(11);
    // From sample by sample to many blocks at once; the kind of cut changes from time to time.
    const size_t longest[] = {3, block + 1, 3 * block, 16 * block};
    size_t kind = 0;
    const auto at_random = [&] {
        if (random.below(32) == 0) kind = random.below(4);
        return 1 + static_cast<size_t>(random.below(longest[kind]));
    };

    Rows blocks, cut;
    LW_TRY(stream(model, in, ticks, stream_of, by_blocks, blocks));
    if (proof.window) {
        LW_ASSIGN(const Rows windows, rows_of_windows(model, in, ticks));
        LW_TRY(compare_windows(model, blocks, windows, proof));
    } else if (model.info.has_run) {
        LW_ASSIGN(Runner runner, Runner::create(model));
        LW_ASSIGN(const Rows whole, runner.run(in));
        LW_TRY(compare(model, blocks, whole, proof));
    }
    LW_TRY(stream(model, in, ticks, stream_of, at_random, cut));
    proof.bit_equal = same_bits(blocks, cut);

    LW_TRY(stream(model, in, proof.cut_ticks, stream_of, by_blocks, blocks));
    for (; proof.cuts < cuts; proof.cuts++) {
        kind = proof.cuts % 4;
        LW_TRY(stream(model, in, proof.cut_ticks, stream_of, at_random, cut));
        if (!same_bits(blocks, cut)) proof.bit_equal = false;
    }
    return proof;
}

nlohmann::ordered_json to_json(const Proof &proof) {
    nlohmann::ordered_json json = {
        {"variant", proof.variant}, {"block", proof.block}, {"holds", proof.holds()}, {"ticks", proof.ticks}};
    if (proof.window) json.update({{"window", proof.window}, {"delay", proof.delay}});
    if (proof.compared)
        json.update({{"rows", proof.rows}, {"largest_error", proof.largest_error}, {"limit", proof.limit}});
    json.update({{"cuts", proof.cuts}, {"cut_ticks", proof.cut_ticks}, {"bit_equal", proof.bit_equal}});
    return json;
}

std::string to_text(const Proof &proof) {
    const auto ticks = static_cast<unsigned long long>(proof.ticks);
    const auto cut_ticks = static_cast<unsigned long long>(proof.cut_ticks);
    std::string text =
        proof.window ? format("window %u, hop %u, delay %u: = runs over its windows within %.1e in %llu rows "
                              "(limit %.2g)",
                              proof.window, proof.block, proof.delay, proof.largest_error,
                              static_cast<unsigned long long>(proof.rows), proof.limit)
        : proof.compared ? format("= whole within %.1e over %llu ticks (limit %.2g)", proof.largest_error,
                                  ticks, proof.limit)
                         : "not compared (no whole-sequence entry)";
    text += format("%s for %u random cuts of %llu ticks and one of all %llu",
                   proof.bit_equal ? ", bit-equal" : ", NOT bit-equal", proof.cuts, cut_ticks, ticks);
    if (!proof.holds()) text += " -- the promise does not hold";
    return text;
}

} // namespace longwave::cli
