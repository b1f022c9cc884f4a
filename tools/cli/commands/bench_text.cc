#include "tools/cli/commands/bench_text.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/text/generator.h"
#include <algorithm>
#include <cstdio>
#include <optional>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

constexpr size_t prompt_ids = 4096, timed_tokens = 1000;

std::optional<uint32_t> single_entry(const Model &model) {
    for (uint32_t i = 0; i < model.info.stream_entries; i++)
        if (model.entry(i).block == 1) return i;
    return std::nullopt;
}

std::vector<int32_t> random_ids(const Model &model, size_t n) {
    Random random(3);
    std::vector<int32_t> ids(n);
    for (int32_t &id : ids) id = static_cast<int32_t>(random.below(model.inputs[0].vocabulary));
    return ids;
}

// Samples, so that the text does not repeat itself.
SamplingFlags drawing() {
    SamplingFlags flags;
    flags.temperature = 1;
    return flags;
}

double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

Expected<double> seconds_for_prompt(const Model &model, const std::string &path,
                                    const std::vector<int32_t> &ids) {
    std::vector<double> times;
    for (int i = 0; i < 3; i++) {
        LW_ASSIGN(Generator generator, Generator::create(model, path, drawing(), 0, false, false));
        const double start = now();
        LW_TRY(generator.prompt(ids));
        times.push_back(now() - start);
    }
    return median(times);
}

Expected<double> seconds_for_steps(const Model &model, const std::vector<int32_t> &ids) {
    LW_ASSIGN(Stream stream, Stream::create(model, LW_I32, *single_entry(model)));
    const double start = now();
    for (const int32_t &id : ids) LW_TRY(stream.push(&id, 1, [](const StreamRow &) {}));
    return now() - start;
}

} // namespace

bool writes_text(const Model &model, const std::string &path) {
    return logits_of(model, path) && single_entry(model);
}

Expected<ordered_json> bench_text(const Model &model, const std::string &path, double seconds) {
    const std::vector<int32_t> ids = random_ids(model, prompt_ids);
    LW_ASSIGN(const double in_blocks, seconds_for_prompt(model, path, ids));
    LW_ASSIGN(const double in_steps, seconds_for_steps(model, ids));
    ordered_json json = {{"prompt_tokens", prompt_ids},
                         {"prompt_ms", 1e3 * in_blocks},
                         {"prompt_in_steps_ms", 1e3 * in_steps},
                         {"tokens", ordered_json::array()}};
    LW_ASSIGN(Generator generator, Generator::create(model, path, drawing(), 0, false, false));
    size_t behind = 0;
    for (const size_t position : {size_t{100}, size_t{10000}, size_t{1000000}}) {
        if (in_blocks / prompt_ids * static_cast<double>(position - behind) > seconds) break;
        LW_TRY(generator.prompt(random_ids(model, position - behind)));
        std::vector<double> times;
        for (size_t i = 0; i < timed_tokens; i++) {
            const double start = now();
            LW_TRY(generator.next().status());
            times.push_back(now() - start);
        }
        behind = position + timed_tokens;
        const double typical = median(times);
        json["tokens"].push_back({{"behind", position},
                                  {"median_us", 1e6 * typical},
                                  {"worst_us", 1e6 * *std::max_element(times.begin(), times.end())},
                                  {"per_second", 1 / typical}});
    }
    return json;
}

void print_text(const ordered_json &text) {
    print_text(stdout, "prompt    %u tokens: %.2f ms in blocks, %.2f ms one at a time (ratio %.1f)\n",
               text["prompt_tokens"].get<unsigned>(), text["prompt_ms"].get<double>(),
               text["prompt_in_steps_ms"].get<double>(),
               text["prompt_in_steps_ms"].get<double>() / text["prompt_ms"].get<double>());
    for (const auto &t : text["tokens"])
        print_text(stdout,
                   "token     after %u tokens: median %.1f µs, worst %.1f µs, %.0f tokens per second\n",
                   t["behind"].get<unsigned>(), t["median_us"].get<double>(), t["worst_us"].get<double>(),
                   t["per_second"].get<double>());
}

} // namespace longwave::cli
