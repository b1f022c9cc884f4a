#include "formats/huggingface/shards.h"
#include "formats/package/attributes.h"
#include "formats/package/file_bytes.h"
#include "formats/package/json_text.h"
#include <set>
#include <sys/stat.h>

namespace longwave::huggingface {
namespace {

using nlohmann::json;
using package::Problems;
using package::Tensor;

constexpr uint64_t max_index_bytes = 16u << 20;
constexpr size_t max_shards = 1024, max_index_depth = 4;

bool exists(const std::string &path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0;
}

// A file of the folder itself, so that an index cannot name files elsewhere.
bool is_shard_name(const std::string &name) {
    return name.ends_with(".safetensors") && name.size() <= 256 && name.find('/') == name.npos &&
           name.front() != '.' && package::plain_text(name);
}

// The tensors that the index expects in each file.
using Shards = std::map<std::string, std::set<std::string>>;

Shards read_map(const json &index, const std::string &source, Problems &problems) {
    Shards shards;
    const json map = index.is_object() ? index.value("weight_map", json()) : json();
    if (!map.is_object() || map.empty()) {
        problems.add(source, "an object with \"weight_map\", from tensor to file", package::describe(index));
        return shards;
    }
    package::only_keys(index, {"metadata", "weight_map"}, "", problems);
    for (const auto &[key, file] : map.items()) {
        if (!file.is_string() || !is_shard_name(file.get_ref<const std::string &>()))
            problems.add(package::member("weight_map", key),
                         "a name of a .safetensors file in the same folder", package::describe(file));
        else shards[file.get<std::string>()].insert(key);
    }
    if (shards.size() > max_shards)
        problems.add(source, "at most " + std::to_string(max_shards) + " files",
                     std::to_string(shards.size()));
    return shards;
}

void add_shard(const std::string &path, const std::set<std::string> &expected,
               std::map<std::string, Tensor> &all, Problems &problems) {
    auto tensors = package::read_safetensors(path);
    if (!tensors) return problems.append(tensors.status());
    for (const std::string &key : expected)
        if (!tensors->count(key))
            problems.add(path, "the tensor " + package::in_quotes(key) + ", as the index says", "none",
                         "copy all files of the model again");
    for (auto &[key, tensor] : *tensors) {
        if (expected.count(key)) all[key] = std::move(tensor);
        else
            problems.add(path, "only tensors that the index names for this file",
                         "the tensor " + package::in_quotes(key), "copy all files of the model again");
    }
}

Expected<std::map<std::string, Tensor>> read_shards(const std::string &folder, const std::string &path) {
    LW_ASSIGN(const std::vector<uint8_t> bytes, package::read_file(path, max_index_bytes));
    Problems problems;
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    const auto index = package::parse_json(text, path, max_index_depth, problems);
    if (!index) return problems.status();
    const Shards shards = read_map(*index, path, problems);
    LW_TRY(problems.status());
    std::map<std::string, Tensor> all;
    for (const auto &[file, keys] : shards) add_shard(folder + "/" + file, keys, all, problems);
    LW_TRY(problems.status());
    return all;
}

} // namespace

Expected<std::map<std::string, Tensor>> read_tensors(const std::string &folder) {
    const std::string whole = folder + "/model.safetensors", index = whole + ".index.json";
    if (exists(whole) && exists(index))
        return Status::input(folder + ": expected model.safetensors or model.safetensors.index.json, "
                                      "found both; remove the older of them");
    if (exists(index)) return read_shards(folder, index);
    if (!exists(whole) &&
        (exists(folder + "/pytorch_model.bin") || exists(folder + "/pytorch_model.bin.index.json")))
        return Status::input(folder + ": expected model.safetensors, found pytorch_model.bin; load the model "
                                      "with transformers and save it again with save_pretrained");
    return package::read_safetensors(whole);
}

} // namespace longwave::huggingface
