#include "tools/cli/text/generator.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cstdio>
#include <cstdlib>

namespace longwave::cli {
namespace {

Expected<lw_logit_bias> bias_of(const std::string &text, uint32_t vocabulary) {
    char *end = nullptr;
    const long long id = std::strtoll(text.c_str(), &end, 10);
    const bool has_id = end != text.c_str() && *end == ':';
    const char *number = has_id ? end + 1 : "";
    const float value = std::strtof(number, &end);
    if (!has_id || *number == 0 || *end || !(value >= -1e30f && value <= 1e30f))
        return Status::usage("--logit-bias " + text +
                             ": expected ID:VALUE, such as 10:-1e30, with a value within ± 1e30");
    if (id < 0 || id >= static_cast<long long>(vocabulary))
        return Status::usage("--logit-bias " + text + ": the id is out of range; the model has ids 0 to " +
                             std::to_string(vocabulary - 1));
    return lw_logit_bias{static_cast<int32_t>(id), value};
}

Expected<uint32_t> single_steps(const Model &model, const std::string &path) {
    for (uint32_t i = 0; i < model.info.stream_entries; i++)
        if (model.entry(i).block == 1) return i;
    return Status::usage(path + ": its streams read " + std::to_string(model.info.stream_block) +
                         " ids at a time; generation needs a block of 1, so compile it with --blocks 1,64");
}

} // namespace

void SamplingFlags::add(CommandLine &app) {
    app.add_option(
           "--temperature", temperature,
           "Randomness. 0 always picks the most likely token, 1 samples from the model's probabilities")
        ->check(range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--top-k", top_k, "Sample from the K most likely tokens. 0: from all")
        ->value("K")
        ->capture_default_str();
    app.add_option("--top-p", top_p,
                   "Nucleus sampling: sample from the smallest set of tokens with total probability P")
        ->check(range(0.0, 1.0))
        ->value("P")
        ->capture_default_str();
    app.add_option("--min-p", min_p, "Sample from tokens with at least P times the largest probability")
        ->check(range(0.0, 1.0))
        ->value("P")
        ->capture_default_str();
    app.add_option(
           "--repetition-penalty", repetition_penalty,
           "Divide positive logits of recent tokens by this number, and multiply negative ones. 1: no "
           "penalty")
        ->check(range(0.01, 100.0))
        ->capture_default_str();
    app.add_option("--repetition-window", repetition_window,
                   "Number of recent tokens the repetition penalty applies to")
        ->check(range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--logit-bias", biases, "Add VALUE to the logit of the token ID. Give it once per token")
        ->single()
        ->value("ID:VALUE");
    app.add_option("--seed", seed, "Random seed. The same seed gives the same text")->capture_default_str();
}

Expected<uint32_t> logits_of(const Model &model, const std::string &path) {
    const std::string instead = right_command(model, path, !model.labels.empty());
    if (model.inputs.size() != 1 || model.inputs[0].kind != LW_INPUT_TOKENS)
        return Status::usage(path + ": not a language model: its input is not token ids; " + instead);
    if (!model.info.has_stream)
        return Status::usage(path +
                             ": the model has no stream entry; compile it with --stream --blocks 1,64");
    for (uint32_t i = 0; i < model.stream_outputs.size(); i++) {
        const lw_output_info &output = model.stream_outputs[i];
        if (output.width == model.inputs[0].vocabulary && output.clock_num == output.clock_den &&
            output.delay == 0)
            return i;
    }
    return Status::usage(
        path + ": not a language model: it has no output with one logit per id, without delay, for all " +
        std::to_string(model.inputs[0].vocabulary) + " ids");
}

Expected<Generator> Generator::create(const Model &model, const std::string &path, const SamplingFlags &flags,
                                      uint32_t recent, bool log_probabilities, bool likely_only) {
    LW_TRY(logits_of(model, path).status());
    LW_ASSIGN(const uint32_t entry, single_steps(model, path));
    lw_generator_options options = {};
    options.struct_size = sizeof options;
    options.seed = flags.seed;
    options.temperature = static_cast<float>(flags.temperature);
    options.top_k = flags.top_k;
    // In the library zero means all tokens. This small share leaves only the most likely token.
    options.top_p = flags.top_p > 0 ? static_cast<float>(flags.top_p) : 1e-30f;
    options.min_p = static_cast<float>(flags.min_p);
    options.repetition_penalty = static_cast<float>(flags.repetition_penalty);
    options.repetition_window = flags.repetition_window;
    options.recent = recent;
    options.log_probabilities = log_probabilities;
    options.likely_only = likely_only;
    std::vector<lw_logit_bias> biases;
    for (const std::string &text : flags.biases) {
        LW_ASSIGN(const lw_logit_bias bias, bias_of(text, model.inputs[0].vocabulary));
        biases.push_back(bias);
    }
    options.biases = biases.data();
    options.n_biases = biases.size();
    Generator result;
    LW_ASSIGN(result.stream_, Stream::create(model, LW_I32, entry));
    lw_generator *generator = nullptr;
    LW_TRY(status_of(lw_generator_create(result.stream_.get(), &options, &generator), path));
    result.handle_ = std::shared_ptr<lw_generator>(
        generator, [keep = result.stream_](lw_generator *g) { lw_generator_destroy(g); });
    result.room_ = recent;
    return result;
}

Status Generator::prompt(const std::vector<int32_t> &ids) {
    return status_of(lw_generator_prompt(handle_.get(), ids.data(), ids.size()), "prompt");
}

Expected<lw_generator_token> Generator::next() {
    lw_generator_token token = {};
    token.struct_size = sizeof token;
    LW_TRY(status_of(lw_generator_next(handle_.get(), &token), "generate"));
    return token;
}

std::vector<int32_t> Generator::recent() const {
    std::vector<int32_t> ids(room_);
    size_t n = 0;
    (void)lw_generator_recent(handle_.get(), ids.data(), ids.size(), &n);
    ids.resize(n);
    return ids;
}

Expected<std::vector<uint8_t>> Generator::save() const {
    size_t n = 0;
    LW_TRY(status_of(lw_generator_save(handle_.get(), nullptr, 0, &n), "state"));
    std::vector<uint8_t> state(n);
    LW_TRY(status_of(lw_generator_save(handle_.get(), state.data(), state.size(), &n), "state"));
    return state;
}

Status Generator::load(const std::string &name, std::string_view state) {
    LW_TRY(status_of(lw_generator_load(handle_.get(), state.data(), state.size()), name));
    if (stream_.stats().unchecked_state)
        print_text(stderr,
                   "note: %s: an earlier version saved this state without a checksum, so damage goes "
                   "unnoticed; save it "
                   "again with --state-out\n",
                   name.c_str());
    return {};
}

} // namespace longwave::cli
