#include "tools/cli/check/window_check.h"
#include "compiler/driver/compile.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cstring>

namespace longwave::cli {
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
