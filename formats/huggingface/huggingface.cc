#include "formats/huggingface/huggingface.h"
#include "formats/huggingface/build.h"
#include "formats/huggingface/shards.h"
#include "formats/package/file_bytes.h"
#include <sys/stat.h>

namespace longwave::huggingface {
namespace {

constexpr uint64_t max_config_bytes = 1u << 20;

std::string count_of(uint64_t n, const std::string &what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// A stream keeps a fixed number of tokens.
Status check_stream(const Config &config, const Options &options) {
    if (!options.stream || config.attentions() == 0 || config.window()) return {};
    return Status::input("--stream: expected attention to see a number of tokens, found all of them, in " +
                         count_of(config.attentions(), "layer") +
                         "; give --context TOKENS (docs/huggingface.md)");
}

} // namespace

bool is_folder(const std::string &path) {
    struct stat info;
    return stat((path + "/config.json").c_str(), &info) == 0 &&
           stat((path + "/model.json").c_str(), &info) != 0;
}

Expected<Model> read(const std::string &folder, const Options &options) {
    const std::string path = folder + "/config.json";
    LW_ASSIGN(const std::vector<uint8_t> bytes, package::read_file(path, max_config_bytes));
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    LW_ASSIGN(const Config config, read_config(text, path, options.context));
    LW_TRY(check_stream(config, options));
    LW_ASSIGN(auto tensors, read_tensors(folder));
    Model model{.notes = skip_unread(config, tensors)};
    const uint64_t own = config.own_window();
    if (options.context && (own == 0 || options.context < own))
        model.notes.push_back("attention, in " + count_of(config.attentions(), "layer") + ", sees the last " +
                              count_of(options.context, "token") +
                              "; longer texts give other numbers than the model of the folder");
    else if (options.context)
        model.notes.push_back("--context changes nothing: attention of this model sees the last " +
                              count_of(own, "token"));
    else if (config.attentions() && own == 0)
        model.notes.push_back("offline runs only: attention, in " + count_of(config.attentions(), "layer") +
                              ", sees all tokens; a stream needs --context TOKENS");
    LW_ASSIGN(model.package, build(config, std::move(tensors)));
    return model;
}

} // namespace longwave::huggingface
