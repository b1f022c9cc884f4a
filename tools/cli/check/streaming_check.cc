#include "tools/cli/check/streaming_check.h"
#include "compiler/driver/compile.h"
#include "formats/artifact/precision.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace longwave::cli {
namespace {

using Rows = std::vector<std::vector<float>>; // by output, all rows in order

const void *tick(const Model &model, const Sequence &in, size_t at) {
    return static_cast<const uint8_t *>(in.data(0)) +
           at * 4 * (model.inputs[0].kind == LW_INPUT_TOKENS ? 1 : model.inputs[0].width);
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

// The rows of the stream must be exactly those of the windows.
Status compare_windows(const Model &model, const Rows &streamed, const Rows &windows, StreamCheck &check) {
    for (size_t i = 0; i < windows.size(); i++) {
        const std::vector<float> &a = streamed[i], &b = windows[i];
        const std::string output = std::string("output ") + model.stream_outputs[i].name;
        if (a.empty() || a.size() != b.size())
            return Status::check(
                output + format(": the stream has %zu values, its windows have %zu", a.size(), b.size()));
        check.rows += a.size() / model.stream_outputs[i].width;
        check.largest_error = std::max(check.largest_error, distance(a.data(), b.data(), a.size()));
    }
    check.compared = true;
    return {};
}

// Row r of the stream is row r of the offline run. An offline output without a time axis is the
// stream's last row.
Status compare(const Model &model, const Rows &streamed, const Rows &offline, StreamCheck &check) {
    for (size_t i = 0; i < model.run_outputs.size(); i++) {
        const lw_output_info &output = model.run_outputs[i];
        const int j = model.stream_output(output.name);
        if (j < 0) continue;
        const auto &a = streamed[static_cast<size_t>(j)];
        const auto &b = offline[i];
        size_t from = 0, count = std::min(a.size(), b.size());
        if (b.size() == output.width && a.size() > b.size()) from = a.size() - output.width;
        if (count == 0)
            return Status::check(std::string("output ") + output.name + ": the stream has no row to compare");
        check.rows += count / output.width;
        check.largest_error = std::max(check.largest_error, distance(a.data() + from, b.data(), count));
        check.compared = true;
    }
    return {};
}

} // namespace

StreamPasses passes_of(uint64_t artifact_bytes, size_t block, size_t capacity, size_t lags, unsigned cuts) {
    // A block reads the weights about once. So many bytes take about ten seconds.
    constexpr uint64_t most_bytes = uint64_t{1} << 37;
    const size_t most = std::max<size_t>(16, most_bytes / std::max<uint64_t>(1, artifact_bytes));
    StreamPasses passes;
    passes.ticks = capacity ? std::min(capacity, std::max(most * block, lags))
                            : std::max(std::min<size_t>(100, most) * block, lags);
    passes.long_ticks = std::max(passes.ticks, lags);
    // All short passes together are as long as two of the others.
    const size_t blocks = std::max<size_t>(8, 2 * most / (cuts + 1));
    passes.cut_ticks =
        std::min({passes.ticks, std::max<size_t>(8 * block, 512) + block / 2, blocks * block + block / 2});
    return passes;
}

size_t ticks_of_lags(const Model &model) {
    constexpr uint64_t most = 1 << 24; // the report is whatever its maker wrote
    const auto report = parse_limited(model.info.report ? model.info.report : "", "");
    uint64_t ticks = 0;
    if (!report || !report->is_object()) return 0;
    for (const auto &entry : report->value("entries", nlohmann::ordered_json::array()))
        if (entry.is_object() && entry.contains("lags") && entry["lags"].is_object() &&
            entry["lags"].contains("ticks") && entry["lags"]["ticks"].is_number_unsigned())
            ticks = std::max(ticks, entry["lags"]["ticks"].get<uint64_t>());
    return static_cast<size_t>(std::min(ticks, most));
}

double stream_limit(const Model &model) { return artifact::stream_limit(double{model.info.error_limit}); }

Expected<StreamCheck> check_stream(const Model &model, unsigned cuts, uint32_t entry) {
    StreamCheck check;
    check.variant = model.info.variant;
    check.limit = stream_limit(model);
    const size_t block = model.entry(entry).block;
    check.block = static_cast<uint32_t>(block);
    check.window = window_of(model);
    if (check.window) check.limit = 0;
    check.delay = model.entry(entry).delay;
    StreamPasses passes =
        passes_of(model.info.artifact_bytes, block, model.info.has_run ? model.info.run_capacity : 0,
                  ticks_of_lags(model), cuts);
    // Every slot of the ring of a window becomes the newest one.
    if (check.window) passes = passes_of(0, block, 2 * size_t{check.window}, ticks_of_lags(model), cuts);
    const size_t ticks = passes.ticks;
    check.ticks = ticks;
    check.long_ticks = passes.long_ticks;
    check.cut_ticks = passes.cut_ticks;
    const Sequence in = made_up(model, ticks, 7);
    LW_ASSIGN(Stream stream_of, Stream::create(model, LW_F32, entry));
    const auto by_blocks = [&] { return block; };
    Random random(11);
    // Pushes of one sample up to many blocks. The range of lengths changes at random.
    const size_t longest[] = {3, block + 1, 3 * block, 16 * block};
    size_t kind = 0;
    const auto at_random = [&] {
        if (random.below(32) == 0) kind = random.below(4);
        return 1 + static_cast<size_t>(random.below(longest[kind]));
    };

    Rows blocks, cut;
    LW_TRY(stream(model, in, ticks, stream_of, by_blocks, blocks));
    if (check.window) {
        LW_ASSIGN(const Rows windows, rows_of_windows(model, in, ticks));
        LW_TRY(compare_windows(model, blocks, windows, check));
    } else if (model.info.has_run) {
        LW_ASSIGN(Runner runner, Runner::create(model));
        LW_ASSIGN(const Rows offline, runner.run(in));
        LW_TRY(compare(model, blocks, offline, check));
    }
    const Sequence longer = made_up(model, check.long_ticks, 7);
    if (check.long_ticks > ticks)
        LW_TRY(stream(model, longer, check.long_ticks, stream_of, by_blocks, blocks));
    LW_TRY(stream(model, longer, check.long_ticks, stream_of, at_random, cut));
    check.bit_equal = same_bits(blocks, cut);

    LW_TRY(stream(model, in, check.cut_ticks, stream_of, by_blocks, blocks));
    for (; check.cuts < cuts; check.cuts++) {
        kind = check.cuts % 4;
        LW_TRY(stream(model, in, check.cut_ticks, stream_of, at_random, cut));
        if (!same_bits(blocks, cut)) check.bit_equal = false;
    }
    return check;
}

nlohmann::ordered_json to_json(const StreamCheck &check) {
    nlohmann::ordered_json json = {
        {"variant", check.variant}, {"block", check.block}, {"holds", check.holds()}, {"ticks", check.ticks}};
    if (check.window) json.update({{"window", check.window}, {"delay", check.delay}});
    if (check.compared)
        json.update({{"rows", check.rows}, {"largest_error", check.largest_error}, {"limit", check.limit}});
    json.update({{"cuts", check.cuts},
                 {"cut_ticks", check.cut_ticks},
                 {"long_ticks", check.long_ticks},
                 {"bit_equal", check.bit_equal}});
    return json;
}

std::string to_text(const StreamCheck &check) {
    const auto ticks = static_cast<unsigned long long>(check.ticks);
    const auto cut_ticks = static_cast<unsigned long long>(check.cut_ticks);
    std::string text =
        check.window ? format("window %u, hop %u, delay %u: equals runs over its windows within %.1e in %llu "
                              "rows (limit %.2g)",
                              check.window, check.block, check.delay, check.largest_error,
                              static_cast<unsigned long long>(check.rows), check.limit)
        : check.compared ? format("equals the offline run within %.1e over %llu ticks (limit %.2g)",
                                  check.largest_error, ticks, check.limit)
                         : "not compared (no offline run)";
    text += format("%s for %u random cuts of %llu ticks and one of all %llu",
                   check.bit_equal ? ", bit-equal" : ", NOT bit-equal", check.cuts, cut_ticks,
                   static_cast<unsigned long long>(check.long_ticks));
    if (!check.holds()) text += " -- FAILED";
    return text;
}

namespace {

// One output: window f ends after hop f and adds rows first ... first + rows - 1 of its run. The
// rows of all windows follow each other. The first `lead` rows are start-up.
struct Adds {
    size_t run = 0; // index among the run's outputs
    uint64_t first = 0, rows = 1, lead = 0, valid = 0;
};

Expected<std::vector<Adds>> adds_of(const Model &model, uint64_t window, uint64_t hop, uint64_t ticks) {
    std::vector<Adds> all;
    for (const lw_output_info &output : model.stream_outputs) {
        const auto same =
            std::find_if(model.run_outputs.begin(), model.run_outputs.end(),
                         [&](const lw_output_info &run) { return std::strcmp(run.name, output.name) == 0; });
        if (same == model.run_outputs.end() || same->width != output.width)
            return Status::check(std::string("output ") + output.name +
                                 ": offline runs do not have this output");
        Adds adds{.run = static_cast<size_t>(same - model.run_outputs.begin()),
                  .valid = rows_after(output, ticks)};
        if (same->clock_num != 0) {
            adds.rows = rows_after(*same, hop);
            adds.lead = rows_after(output, output.delay);
            const uint64_t all_rows = rows_after(*same, window);
            if (adds.rows + adds.lead > all_rows)
                return Status::check(std::string("output ") + output.name +
                                     format(" has a delay of %u steps, which no --window N --hop M produces; "
                                            "recompile the model",
                                            output.delay));
            adds.first = all_rows - adds.rows - adds.lead;
        }
        all.push_back(adds);
    }
    return all;
}

// Ticks [end - window, end) of the sequence, where `ticks` of it count; all others are zero.
template <class Value> std::vector<Value> cut(const std::vector<Value> &all, int64_t end, int64_t window,
                                              int64_t ticks, size_t width) {
    std::vector<Value> values(all.empty() ? 0 : static_cast<size_t>(window) * width);
    for (int64_t tick = std::max<int64_t>(0, end - window); tick < std::min(end, ticks) && !all.empty();
         tick++)
        std::copy_n(all.begin() + tick * static_cast<int64_t>(width), width,
                    values.begin() + (tick - end + window) * static_cast<int64_t>(width));
    return values;
}

} // namespace

uint32_t window_of(const Model &model) {
    if (model.info.state_fields != 1 || model.inputs.size() != 1 || !model.info.has_run) return 0;
    const lw_state_field &field = model.state_fields[0];
    const bool slides = field.kind == LW_STATE_HISTORY &&
                        std::strcmp(field.name, compiler::window_field) == 0 && field.n_dims == 2;
    return slides && field.dims[0] == model.info.run_capacity ? field.dims[0] : 0;
}

Expected<std::vector<std::vector<float>>> rows_of_windows(const Model &model, const Sequence &in,
                                                          size_t ticks) {
    const uint64_t window = window_of(model), hop = model.info.stream_block;
    LW_ASSIGN(const std::vector<Adds> outputs, adds_of(model, window, hop, ticks));
    LW_ASSIGN(Runner runner, Runner::create(model));
    const size_t width = model.inputs[0].kind == LW_INPUT_TOKENS ? 1 : model.inputs[0].width;
    std::vector<std::vector<float>> rows(outputs.size());
    // The last rows come from windows that end in silence.
    for (uint64_t f = 0; f * hop < ticks + window; f++) {
        const auto end = static_cast<int64_t>((f + 1) * hop);
        Sequence piece;
        piece.rows = window;
        piece.floats = {
            cut(in.floats[0], end, static_cast<int64_t>(window), static_cast<int64_t>(ticks), width)};
        piece.ids = {cut(in.ids[0], end, static_cast<int64_t>(window), static_cast<int64_t>(ticks), width)};
        LW_ASSIGN(const auto offline, runner.run(piece));
        for (size_t i = 0; i < outputs.size(); i++) {
            const Adds &adds = outputs[i];
            const size_t values = model.stream_outputs[i].width;
            for (uint64_t j = 0; j < adds.rows; j++) {
                const uint64_t row = f * adds.rows + j;
                if (row < adds.lead || row - adds.lead >= adds.valid) continue;
                const auto from =
                    offline[adds.run].begin() + static_cast<std::ptrdiff_t>((adds.first + j) * values);
                rows[i].insert(rows[i].end(), from, from + static_cast<std::ptrdiff_t>(values));
            }
        }
    }
    return rows;
}

} // namespace longwave::cli
