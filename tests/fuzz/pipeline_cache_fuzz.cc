// Entries of the folder in which a GPU keeps compiled pipelines. The first byte says whether the
// entry is given the hash of its bytes (bit 0) and the head of a sound one (bit 1). What must hold:
// any file is no entry, or gives the bytes behind its head; nothing stays allocated.
#include "formats/artifact/hash.h"
#include "runtime/vulkan/cache/cache.h"
#include "tests/fuzz/must.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

using namespace longwave;
using namespace longwave::runtime;
using fuzz::must;

namespace {

constexpr size_t head_bytes = 120, hash_at = 88; // of an entry
uint64_t held = 0;

const lw_allocator counting = {[](void *, size_t size, size_t alignment) -> void * {
                                   held += size;
                                   return aligned_alloc(alignment,
                                                        (size + alignment - 1) / alignment * alignment);
                               },
                               [](void *, void *memory, size_t size) {
                                   held -= memory ? size : 0;
                                   free(memory);
                               },
                               nullptr};

struct Folder {
    vulkan::Cache cache;
    std::filesystem::path path, entry;
    std::vector<uint8_t> sound;

    Folder() {
        path = std::filesystem::temp_directory_path() / ("longwave-fuzz-" + std::to_string(getpid()));
        must(!cache.open(path.c_str(), VkPhysicalDeviceProperties{}), "a folder of one's own is used");
        cache.write(vulkan::Cache::Kind::pipelines, artifact, "pipelines", 9);
        for (const auto &file : std::filesystem::directory_iterator(path)) entry = file.path();
        std::ifstream file(entry, std::ios::binary);
        sound.assign(std::istreambuf_iterator<char>(file), {});
        must(sound.size() == head_bytes + 9, "an entry is written");
    }
    ~Folder() { std::filesystem::remove_all(path); }
    static constexpr uint8_t artifact[artifact::hash_bytes] = {1, 2, 3};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Folder folder;
    if (size < 1) return 0;
    std::vector<uint8_t> bytes(data + 1, data + size);
    if (data[0] & 2) bytes.insert(bytes.begin(), folder.sound.begin(), folder.sound.begin() + 72);
    if ((data[0] & 1) && bytes.size() >= head_bytes) {
        memset(&bytes[hash_at], 0, artifact::hash_bytes);
        uint8_t hash[artifact::hash_bytes];
        artifact::hash(bytes.data(), bytes.size(), hash);
        memcpy(&bytes[hash_at], hash, sizeof hash);
    }
    std::ofstream(folder.entry, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    Block block;
    const uint8_t *found = nullptr;
    uint64_t count = 0;
    if (folder.cache.read(vulkan::Cache::Kind::pipelines, Folder::artifact, counting, &block, &found,
                          &count)) {
        must(count == bytes.size() - head_bytes, "an entry has the bytes behind its head");
        must(memcmp(found, bytes.data() + head_bytes, count) == 0, "and gives them");
        block.release(counting);
    }
    must(held == 0, "everything taken is given back");
    return 0;
}
