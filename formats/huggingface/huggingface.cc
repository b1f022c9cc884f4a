#include "formats/huggingface/huggingface.h"
#include "formats/huggingface/build.h"
#include "formats/huggingface/shards.h"
#include "formats/package/file_bytes.h"
#include <sys/stat.h>

namespace longwave::huggingface {
namespace {

constexpr uint64_t max_config_bytes = 1u << 20;

} // namespace

bool is_folder(const std::string &path) {
    struct stat info;
    return stat((path + "/config.json").c_str(), &info) == 0 &&
           stat((path + "/model.json").c_str(), &info) != 0;
}

Expected<package::Package> read(const std::string &folder) {
    const std::string path = folder + "/config.json";
    LW_ASSIGN(const std::vector<uint8_t> bytes, package::read_file(path, max_config_bytes));
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    LW_ASSIGN(const Config config, read_config(text, path));
    LW_ASSIGN(auto tensors, read_tensors(folder));
    return build(config, std::move(tensors));
}

} // namespace longwave::huggingface
