#include "formats/huggingface/huggingface.h"
#include "formats/huggingface/shards.h"
#include "tests/unit/formats/huggingface/small_models.h"
#include "tests/unit/formats/package/safetensors_bytes.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

namespace folder_test {

using namespace longwave;
using nlohmann::json;

namespace {

struct Folder {
    std::string path;

    Folder() {
        char name[] = "/tmp/huggingface_XXXXXX";
        path = mkdtemp(name);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    void write(const std::string &name, const std::string &bytes) const {
        std::ofstream(path + "/" + name, std::ios::binary) << bytes;
    }
    // Tensors of one number each.
    void write_tensors(const std::string &name, const std::map<std::string, float> &tensors) const {
        json header;
        std::vector<float> values;
        for (const auto &[key, value] : tensors) {
            const size_t at = 4 * values.size();
            header[key] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {at, at + 4}}};
            values.push_back(value);
        }
        const tests::Bytes bytes = tests::with_values(header.dump(), values);
        write(name, std::string(bytes.begin(), bytes.end()));
    }
    void write_index(const json &map) const {
        write("model.safetensors.index.json",
              json{{"metadata", {{"total_size", 8}}}, {"weight_map", map}}.dump());
    }
    std::string failure() const {
        const auto tensors = huggingface::read_tensors(path);
        if (tensors) return "";
        CHECK(tensors.status().fault() == Fault::input);
        return tensors.status().message();
    }
};

} // namespace

TEST_CASE("huggingface folder: a config.json without a model.json") {
    const Folder folder;
    CHECK(!huggingface::is_folder(folder.path));
    folder.write("config.json", "{}");
    CHECK(huggingface::is_folder(folder.path));
    CHECK(!huggingface::read(folder.path));
    folder.write("model.json", "{}");
    CHECK(!huggingface::is_folder(folder.path));
}

TEST_CASE("huggingface folder: one file, or the files of an index") {
    const Folder one, shards;
    one.write_tensors("model.safetensors", {{"a", 1.f}, {"b", 2.f}});
    shards.write_tensors("1.safetensors", {{"a", 1.f}});
    shards.write_tensors("2.safetensors", {{"b", 2.f}});
    shards.write_index({{"a", "1.safetensors"}, {"b", "2.safetensors"}});
    for (const Folder *folder : {&one, &shards}) {
        const auto tensors = huggingface::read_tensors(folder->path);
        REQUIRE_MESSAGE(tensors, tensors.status().message());
        REQUIRE(tensors->size() == 2);
        CHECK(tensors->at("a").data[0] == 1.f);
        CHECK(tensors->at("b").data[0] == 2.f);
    }
    shards.write_tensors("model.safetensors", {{"a", 1.f}});
    CHECK(shards.failure().find("found both") != std::string::npos);
}

TEST_CASE("huggingface folder: an index and its files agree") {
    const Folder folder;
    folder.write_tensors("1.safetensors", {{"a", 1.f}, {"more", 3.f}});
    folder.write_index({{"a", "1.safetensors"}, {"b", "1.safetensors"}});
    const std::string file = folder.path + "/1.safetensors";
    CHECK(folder.failure() ==
          file +
              ": expected the tensor \"b\", as the index says, found none; copy all files of the model "
              "again\n" +
              file +
              ": expected only tensors that the index names for this file, found the tensor \"more\"; "
              "copy all files of the model again");
    folder.write_index({{"a", "2.safetensors"}});
    CHECK(folder.failure().find("2.safetensors: cannot be read") != std::string::npos);
}

TEST_CASE("huggingface folder: an index names files of its folder") {
    const Folder folder;
    for (const json &name : {json("../1.safetensors"), json("/tmp/1.safetensors"), json("a/b.safetensors"),
                             json(".safetensors"), json("1.bin"), json("1\n.safetensors"), json(1)}) {
        folder.write_index({{"a", name}});
        CHECK(folder.failure().starts_with("weight_map.a: expected a name of a .safetensors file in the same "
                                           "folder"));
    }
    folder.write_index(json::array());
    CHECK(folder.failure().find("expected an object with \"weight_map\"") != std::string::npos);
}

TEST_CASE("huggingface folder: weights of another format say what to do") {
    const Folder folder;
    folder.write("pytorch_model.bin", "PK");
    CHECK(folder.failure().find("save it again with save_pretrained") != std::string::npos);
}

TEST_CASE("huggingface folder: no config.json, a large one, one that is no JSON") {
    const Folder folder;
    CHECK(huggingface::read(folder.path).status().message().find("config.json: cannot be read") !=
          std::string::npos);
    folder.write("config.json", std::string((1 << 20) + 1, ' '));
    CHECK(huggingface::read(folder.path).status().message().find("expected at most 1048576 bytes") !=
          std::string::npos);
    folder.write("config.json", "{\"model_type\": ");
    CHECK(huggingface::read(folder.path).status().message().find("line 1") != std::string::npos);
    folder.write("config.json", "[]");
    CHECK(huggingface::read(folder.path).status().message().find("expected an object") != std::string::npos);
}

} // namespace folder_test
