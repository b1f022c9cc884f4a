// longwave generate: continues a prompt, and writes the text token by token.
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include "tools/cli/text/generator.h"
#include "tools/cli/text/text_input.h"
#include "tools/cli/text/text_output.h"
#include "tools/cli/text/tokens.h"
#include <algorithm>
#include <csignal>
#include <cstdio>

namespace longwave::cli {
namespace {

struct GenerateFlags {
    ModelFlags model;
    SamplingFlags sampling;
    TokenizerFlags tokenizer;
    std::string prompt, state_in, state_out;
    std::vector<std::string> stops;
    uint64_t tokens = 256;
    bool json = false;
};

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) text += format("%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    return text;
}

// One text: reads the prompt, writes the tokens, and ends it.
class Writing {
public:
    Writing(const GenerateFlags &flags, const Tokens &tokens, Generator &generator)
        : flags_(flags), tokens_(tokens), generator_(generator), stops_(flags.stops) {
        if (flags.state_in.empty()) before_ = tokens.special(flags.tokenizer.special, LW_TEXT_BEGIN);
        after_ = tokens.special(flags.tokenizer.special, LW_TEXT_END);
    }

    // Reads the prompt in pieces: its length has no limit.
    Status read(TextInput &prompt) {
        const double start = now();
        Progress progress;
        tell_special();
        LW_TRY(read(before_, progress, 0, prompt.size()));
        for (size_t done = 0; !stopped;) {
            LW_ASSIGN(const std::string piece,
                      tokens_.divisible() ? prompt.read(size_t{1} << 16) : prompt.rest());
            if (piece.empty()) break;
            LW_ASSIGN(const std::vector<int32_t> ids, tokens_.encode(piece));
            LW_TRY(read(ids, progress, done, std::max(done + piece.size(), prompt.size())));
            done += piece.size();
        }
        LW_TRY(read(after_, progress, prompt.size(), prompt.size()));
        if (prompt_tokens_ == 0 && !stopped)
            return Status::input(prompt.name() + ": the prompt is empty; give at least one token");
        prompt_seconds_ = now() - start;
        return {};
    }
    // Continues a saved state: the last tokens may hold the beginning of a stop sequence.
    void resume() {
        for (const int32_t id : generator_.recent()) stops_.shown(tokens_.bytes(id));
    }
    Status write() {
        start_ = now();
        const char *reason = "tokens";
        while (written_ < flags_.tokens && !stopped && out_.read() && !stops_.complete()) {
            LW_ASSIGN(const lw_generator_token token, generator_.next());
            written_++;
            const std::string_view bytes = tokens_.bytes(token.id);
            const std::string shown = stops_.add(bytes);
            if (flags_.json) print(token, bytes);
            else out_.write(shown);
        }
        if (stops_.complete()) reason = "stop";
        else if (stopped) reason = "interrupted";
        if (flags_.json) return end(reason);
        out_.write(stops_.rest()); // a stop sequence that was not completed
        out_.end();
        return out_.status();
    }

private:
    void tell_special() const { // with --json, the last object tells it
        if (flags_.json || (before_.empty() && after_.empty())) return;
        print_text(stderr, "note: special tokens: %s before the prompt, %s after it (--special)\n",
                   before_.empty() ? "none" : tokens_.named(before_).c_str(),
                   after_.empty() ? "none" : tokens_.named(after_).c_str());
    }
    Status read(const std::vector<int32_t> &ids, Progress &progress, size_t done, size_t total) {
        constexpr size_t most = 16384; // ids between two looks at signals
        for (size_t at = 0; at < ids.size() && !stopped; at += most) {
            progress.show(done, total, "bytes of the prompt");
            const size_t n = std::min(most, ids.size() - at);
            LW_TRY(generator_.prompt(
                {ids.begin() + static_cast<ptrdiff_t>(at), ids.begin() + static_cast<ptrdiff_t>(at + n)}));
            prompt_tokens_ += n;
        }
        return {};
    }
    void print(const lw_generator_token &token, std::string_view bytes) {
        line({{"type", "token"},
              {"id", token.id},
              {"text", std::string(bytes)},
              {"bytes", hexadecimal(bytes)},
              {"logprob", token.log_probability},
              {"position", token.position},
              {"seconds", now() - start_}});
    }
    Status end(const char *reason) {
        const double seconds = now() - start_;
        nlohmann::ordered_json json = {{"type", "end"}, {"reason", reason}};
        if (const std::string *stop = stops_.complete()) json["stop"] = *stop;
        json["prompt_tokens"] = prompt_tokens_;
        json["special_tokens"] = {{"before", before_}, {"after", after_}};
        json["prompt_seconds"] = prompt_seconds_;
        json["tokens"] = written_;
        json["seconds"] = seconds;
        line(json);
        return out_.status();
    }
    void line(const nlohmann::ordered_json &json) { out_.write(json_line(json) + "\n"); }

    const GenerateFlags &flags_;
    const Tokens &tokens_;
    Generator &generator_;
    std::vector<int32_t> before_, after_; // special tokens around the prompt
    StopText stops_;
    TextOutput out_;
    uint64_t prompt_tokens_ = 0, written_ = 0;
    double prompt_seconds_ = 0, start_ = 0;
};

// Runs before the command reads or computes anything.
Status check(const GenerateFlags &flags, bool has_prompt) {
    if (!has_prompt && flags.state_in.empty())
        return Status::usage(
            "nothing to continue: give --prompt TEXT, --prompt @FILE, --prompt - (standard input) or "
            "--state-in FILE");
    for (const std::string &stop : flags.stops)
        if (stop.empty()) return Status::usage("--stop: the text is empty");
    if (flags.state_out.empty()) return {};
    std::vector<std::string> inputs = {flags.model.path};
    if (!flags.tokenizer.file.empty()) inputs.push_back(flags.tokenizer.file);
    if (flags.prompt.starts_with('@')) inputs.push_back(flags.prompt.substr(1));
    return check_output("--state-out", flags.state_out, inputs);
}

// Number of ids that may hold the beginning of a stop sequence: most ids have at least one byte.
uint32_t reach(const GenerateFlags &flags) {
    size_t longest = 0;
    for (const std::string &stop : flags.stops) longest = std::max(longest, stop.size());
    // A resumed run may have longer stop sequences than this one, so a state holds at least 256
    // ids.
    return static_cast<uint32_t>(std::clamp<size_t>(longest, 256, 1 << 20));
}

// The most bytes that a saved state of the model can have: the fields with their names, rows that
// wait, and the recent ids. A state of other blocks may hold more rows than this stream's memory.
uint64_t most_state_bytes(const lw_model_info &info) {
    constexpr uint64_t ids = sizeof(int32_t) << 20, other = 1 << 20, per_field = 1024;
    return info.stream_state_bytes + info.stream_memory_bytes + per_field * info.state_fields + ids + other;
}

Status load_state(const GenerateFlags &flags, const Model &model, Generator &generator) {
    LW_ASSIGN(TextInput input, TextInput::open(flags.state_in));
    const uint64_t most = most_state_bytes(model.info);
    LW_ASSIGN(const std::string state, input.read(static_cast<size_t>(most + 1)));
    if (state.size() > most)
        return Status::input(flags.state_in + ": is larger than any saved state of " + model.info.name +
                             ", which has at most " + bytes_text(most) +
                             "; name a file that --state-out wrote");
    return generator.load(flags.state_in, state);
}

Status generate(const GenerateFlags &flags, bool has_prompt) {
    LW_TRY(check(flags, has_prompt));
    LW_ASSIGN(const Model model, Model::open(flags.model));
    LW_ASSIGN(Generator generator,
              Generator::create(model, flags.model.path, flags.sampling, reach(flags), flags.json,
                                flags.state_out.empty())); // a resumed run may sample differently
    LW_ASSIGN(const Tokens tokens,
              Tokens::open(flags.model.path, model.inputs[0].vocabulary, flags.tokenizer.file));
    if (!flags.state_in.empty()) LW_TRY(load_state(flags, model, generator));
    Writing writing(flags, tokens, generator);
    stop_on_signals();
    std::signal(SIGPIPE, SIG_IGN);
    if (has_prompt) {
        TextInput prompt = TextInput::of(flags.prompt);
        if (flags.prompt == "-") {
            LW_ASSIGN(prompt, TextInput::open("-"));
        } else if (flags.prompt.starts_with('@')) {
            LW_ASSIGN(prompt, TextInput::open(flags.prompt.substr(1)));
        }
        LW_TRY(writing.read(prompt));
    } else {
        writing.resume();
    }
    Status written = writing.write();
    if (flags.state_out.empty()) return written;
    // The state is saved even if the text could not be written.
    LW_ASSIGN(const std::vector<uint8_t> state, generator.save());
    const Status saved = write_output(flags.state_out, state);
    return written ? saved : written;
}

} // namespace

Command add_generate(CommandLine &program) {
    auto flags = std::make_shared<GenerateFlags>();
    CommandLine *app = program.add_subcommand("generate", "Continue a prompt with a causal language model.");
    flags->model.add(*app);
    flags->model.streams = true;
    add_device_flags(*app, flags->model);
    Option *prompt = app->add_option("-p,--prompt", flags->prompt,
                                     "Text to continue: TEXT, @FILE, or - for standard input");
    app->add_option("-n,--tokens", flags->tokens,
                    "Largest number of tokens to generate. 0 only reads the prompt")
        ->capture_default_str();
    app->add_option("--stop", flags->stops, "Stop before this text")->single();
    flags->sampling.add(*app);
    app->add_option("--state-in", flags->state_in,
                    "Resume from this saved state, and then read the prompt, if any")
        ->file();
    app->add_option("--state-out", flags->state_out, "Save the state at the end, also after Control-C")
        ->file();
    flags->tokenizer.add(*app);
    app->add_flag("--json", flags->json, "Print one JSON object per token, and one at the end");
    app->footer(
        "Examples:\n"
        "  longwave generate text.lw -p 'It was' -n 500 --temperature 0.8 --seed 3 --state-out a.state\n"
        "  longwave generate text.lw --state-in a.state -n 500 --temperature 0.8 --seed 3\n"
        "A prompt may have any length: there is no limit of context. A token takes the same time after one "
        "million tokens as after ten.\n"
        "Resuming continues the text exactly as if it had not been interrupted. A partial stop sequence or "
        "UTF-8 "
        "character is held back, and printed at the end if it was never completed.\n"
        "Adaptive softmax skips clusters of words that greedy or --min-p sampling cannot pick. With --top-p, "
        "penalties, biases, --json or --state-out it computes all clusters.\n"
        "With --state-in the text has begun, and no special token is put before the prompt. The report says "
        "which special tokens the prompt got.\n"
        "--logit-bias takes token ids. The ids of a byte-level model are the byte values.\n"
        "With --json, `text` has U+FFFD where a token is not a complete character. `bytes` has all bytes in "
        "hexadecimal. `logprob` is the natural logarithm of the probability that the model gives the token.");
    return {app, [flags, prompt] { return generate(*flags, prompt->given()); }};
}

} // namespace longwave::cli
