#include "tools/cli/text/tokens.h"
#include "tools/cli/output/text.h"
#include <filesystem>

namespace longwave::cli {
namespace {

Status status_of(lw_status status) {
    if (status == LW_OK) return {};
    const std::string detail = lw_last_error();
    switch (status) {
    case LW_NO_MEMORY: return Status::device(detail);
    case LW_NOT_FOUND:
    case LW_IO:
    case LW_UNSUPPORTED:
    case LW_BAD_TOKEN: return Status::input(detail);
    default: return Status::internal(detail);
    }
}

// model.tokenizer.json next to model.lw; empty if it does not exist. Without it the ids are bytes:
// a file that cannot be seen for another reason must not give another text.
Expected<std::string> next_to(const std::string &model) {
    const std::filesystem::path path = std::filesystem::path(model).replace_extension("tokenizer.json");
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path.string();
    if (!error || error == std::errc::filename_too_long) return std::string();
    return Status::input(path.string() + ": cannot be read: " + error.message());
}

} // namespace

Expected<Tokens> Tokens::open(const std::string &model, uint32_t vocabulary, std::string file) {
    if (file.empty()) {
        LW_ASSIGN(file, next_to(model));
    }
    lw_tokenizer *tokenizer = nullptr;
    if (!file.empty()) {
        lw_tokenizer_options options = {};
        options.struct_size = sizeof options;
        options.vocabulary = vocabulary;
        LW_TRY(status_of(lw_tokenizer_open(file.c_str(), &options, &tokenizer)));
    } else if (vocabulary == 256) {
        LW_TRY(status_of(lw_tokenizer_open_bytes(&tokenizer)));
    } else {
        return Status::usage(
            model + ": the model has " + std::to_string(vocabulary) +
            " token ids, which are not bytes; name its tokenizer.json with --tokenizer FILE");
    }
    Tokens tokens;
    tokens.handle_ = std::shared_ptr<lw_tokenizer>(tokenizer, lw_tokenizer_close);
    return tokens;
}

Expected<std::vector<int32_t>> Tokens::encode(std::string_view text) const {
    // A byte is at most one id, and each piece may add one space; most texts fit at the first call.
    std::vector<int32_t> ids(text.size());
    size_t n = 0;
    lw_status status =
        lw_tokenizer_encode(handle_.get(), text.data(), text.size(), ids.data(), ids.size(), &n);
    if (status == LW_TOO_SMALL) {
        ids.resize(n);
        status = lw_tokenizer_encode(handle_.get(), text.data(), text.size(), ids.data(), ids.size(), &n);
    }
    LW_TRY(status_of(status));
    ids.resize(n);
    return ids;
}

std::string_view Tokens::bytes(int32_t id) const {
    const char *bytes = nullptr;
    size_t size = 0;
    if (lw_tokenizer_token(handle_.get(), id, &bytes, &size) != LW_OK) return {};
    return {bytes, size};
}

std::vector<int32_t> Tokens::special(const std::string &choice, uint32_t side) const {
    if (choice == "none" || (choice == "begin" && side != LW_TEXT_BEGIN)) return {};
    const int32_t *ids = nullptr;
    const size_t n = lw_tokenizer_special(handle_.get(), side, &ids);
    return {ids, ids + n};
}

std::string Tokens::named(const std::vector<int32_t> &ids) const {
    std::string result;
    for (const int32_t id : ids)
        result += (result.empty() ? "" : ", ") + printable(std::string(bytes(id))) + " (" +
                  std::to_string(id) + ")";
    return result;
}

void TokenizerFlags::add(CommandLine &app) {
    app.add_option(
           "--tokenizer", file,
           "tokenizer.json of the model. A byte-level model needs none (default: MODEL.tokenizer.json next "
           "to the model)")
        ->file(".json");
    app.add_option("--special", special,
                   "Special tokens of tokenizer.json (post_processor), such as BOS and EOS: those before the "
                   "text, all, or none")
        ->check(one_of({"begin", "all", "none"}))
        ->capture_default_str();
}

} // namespace longwave::cli
