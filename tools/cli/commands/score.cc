// longwave score: bits per byte and perplexity of a text.
#include "tools/cli/commands/command.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include "tools/cli/text/generator.h"
#include "tools/cli/text/text_input.h"
#include "tools/cli/text/tokens.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>

namespace longwave::cli {
namespace {

struct ScoreFlags {
    ModelFlags model;
    std::string text = "-";
    TokenizerFlags tokenizer;
    bool json = false;
};

// −log2 of the probability that softmax(logits) gives an id.
double bits(const float *logits, uint32_t n, int32_t id) {
    float most = logits[0];
    for (uint32_t i = 1; i < n; i++) most = std::max(most, logits[i]);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += std::exp(double{logits[i]} - double{most});
    return (std::log(sum) - (double{logits[id]} - double{most})) / std::log(2.0);
}

// The entry with the largest block reads a text fastest.
uint32_t widest_entry(const Model &model) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < model.info.stream_entries; i++)
        if (model.entry(i).block > model.entry(best).block) best = i;
    return best;
}

class Score {
public:
    Score(Stream stream, const Tokens &tokens, uint32_t output)
        : stream_(std::move(stream)), tokens_(tokens), output_(output) {}

    // Each id is read when the next one is known. The last one is not read, because no id follows
    // it. Special tokens are no bytes of the text.
    Status read(const std::vector<int32_t> &ids, bool special = false) {
        std::vector<int32_t> reads;
        for (const int32_t id : ids) {
            if (last_ >= 0) {
                reads.push_back(last_);
                expected_.push_back(id);
                if (!special) bytes_ += tokens_.bytes(id).size();
            }
            last_ = id;
        }
        return stream_.push(reads.data(), reads.size(), on_row());
    }
    Status finish() {
        LW_TRY(stream_.finish(on_row()));
        if (last_ < 0 || scored_ == 0)
            return Status::input(
                "the text is too short: a score needs two tokens, because the first is not predicted");
        return std::isfinite(bits_)
                   ? Status()
                   : Status::check("the model's logits are not finite, so there is no score");
    }
    uint64_t tokens() const { return scored_; }
    uint64_t bytes() const { return bytes_; }
    double bits_per_byte() const { return bits_ / static_cast<double>(bytes_); }
    double perplexity() const { return std::exp2(bits_ / static_cast<double>(scored_)); }

private:
    OnRow on_row() {
        return [this](const StreamRow &row) {
            if (row.index != output_ || expected_.empty()) return;
            bits_ += bits(row.data, row.width, expected_.front());
            expected_.pop_front();
            scored_++;
        };
    }
    Stream stream_;
    const Tokens &tokens_;
    const uint32_t output_;
    std::deque<int32_t> expected_; // the id that follows each id that the stream has read
    int32_t last_ = -1;
    uint64_t scored_ = 0, bytes_ = 0;
    double bits_ = 0;
};

Status score(const ScoreFlags &flags) {
    LW_ASSIGN(const Model model, Model::open(flags.model));
    LW_ASSIGN(const uint32_t output, logits_of(model, flags.model.path));
    LW_ASSIGN(const Tokens tokens,
              Tokens::open(flags.model.path, model.inputs[0].vocabulary, flags.tokenizer.file));
    const std::vector<int32_t> before = tokens.special(flags.tokenizer.special, LW_TEXT_BEGIN),
                               after = tokens.special(flags.tokenizer.special, LW_TEXT_END);
    LW_ASSIGN(TextInput text, TextInput::open(flags.text));
    LW_ASSIGN(Stream stream, Stream::create(model, LW_I32, widest_entry(model)));
    Score result(std::move(stream), tokens, output);
    stop_on_signals();
    const double start = now();
    Progress progress;
    LW_TRY(result.read(before, true));
    for (size_t done = 0; !stopped;) {
        LW_ASSIGN(const std::string piece, tokens.divisible() ? text.read(size_t{1} << 16) : text.rest());
        if (piece.empty()) break;
        LW_ASSIGN(const std::vector<int32_t> ids, tokens.encode(piece));
        LW_TRY(result.read(ids));
        done += piece.size();
        progress.show(done, std::max(done, text.size()), "bytes");
    }
    if (!stopped) LW_TRY(result.read(after, true));
    progress.finish();
    if (const Status status = result.finish(); !status)
        return {status.fault(), text.name() + ": " + status.message()};
    const double seconds = now() - start, rate = static_cast<double>(result.tokens()) / seconds;
    if (flags.json) {
        const nlohmann::ordered_json json = {{"bits_per_byte", result.bits_per_byte()},
                                             {"perplexity", result.perplexity()},
                                             {"tokens", result.tokens()},
                                             {"bytes", result.bytes()},
                                             {"special_tokens", {{"before", before}, {"after", after}}},
                                             {"complete", !stopped},
                                             {"seconds", seconds},
                                             {"tokens_per_second", rate}};
        print_text(stdout, "%s\n", json_line(json).c_str());
    } else {
        print_text(stdout,
                   "%.4f bits per byte · perplexity %.4f per token · %llu tokens, %llu bytes%s · %.0f tokens "
                   "per second\n",
                   result.bits_per_byte(), result.perplexity(),
                   static_cast<unsigned long long>(result.tokens()),
                   static_cast<unsigned long long>(result.bytes()), stopped ? ", interrupted" : "", rate);
        if (!before.empty() || !after.empty())
            print_text(stdout, "special tokens: %s before the text, %s after it\n",
                       before.empty() ? "none" : tokens.named(before).c_str(),
                       after.empty() ? "none" : tokens.named(after).c_str());
    }
    return {};
}

} // namespace

Command add_score(CommandLine &program) {
    auto flags = std::make_shared<ScoreFlags>();
    CommandLine *app = program.add_subcommand(
        "score", "Measure how well a language model predicts a text: bits per byte and perplexity.");
    flags->model.add(*app);
    app->add_option("text", flags->text, "File with the text, or - for standard input")->file()->required();
    flags->tokenizer.add(*app);
    app->add_flag("--json", flags->json, "Print one JSON object");
    app->footer("The first token has no token before it and is not scored. A special token before the text "
                "is the first "
                "one. A byte-level model reads a text of any "
                "length in pieces. With a tokenizer, the whole text is in memory.");
    return {app, [flags] { return score(*flags); }};
}

} // namespace longwave::cli
