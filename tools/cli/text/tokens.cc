#include "tools/cli/text/tokens.h"
#include "tools/cli/text/bpe.h"
#include "tools/cli/text/text_input.h"
#include <filesystem>

namespace longwave::cli {
namespace {

class Bytes final : public Tokens {
public:
    Bytes() {
        for (size_t i = 0; i < 256; i++) all_.push_back(static_cast<char>(i));
    }
    std::vector<int32_t> encode(std::string_view text) const override {
        std::vector<int32_t> ids;
        ids.reserve(text.size());
        for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
        return ids;
    }
    std::string_view bytes(int32_t id) const override {
        return id >= 0 && id < 256 ? std::string_view(all_).substr(static_cast<size_t>(id), 1)
                                   : std::string_view();
    }
    bool divisible() const override { return true; }

private:
    std::string all_;
};

constexpr uint64_t most_bytes = uint64_t{256} << 20; // of a tokenizer

// model.tokenizer.json beside model.lw; empty where there is none.
std::string beside(const std::string &artifact) {
    const std::filesystem::path path = std::filesystem::path(artifact).replace_extension("tokenizer.json");
    std::error_code error;
    return std::filesystem::exists(path, error) ? path.string() : std::string();
}

} // namespace

Expected<std::unique_ptr<Tokens>> tokens_of(const std::string &artifact, uint32_t vocabulary,
                                            std::string file) {
    if (file.empty()) file = beside(artifact);
    if (!file.empty()) {
        LW_ASSIGN(const std::vector<uint8_t> text, read_bytes(file, most_bytes));
        return tokenizer_of({reinterpret_cast<const char *>(text.data()), text.size()}, file, vocabulary);
    }
    if (vocabulary == 256) return std::unique_ptr<Tokens>(std::make_unique<Bytes>());
    return Status::usage(
        artifact + ": the model reads " + std::to_string(vocabulary) +
        " ids, which are no bytes; name its tokenizer with --tokenizer FILE (tokenizer.json)");
}

} // namespace longwave::cli
