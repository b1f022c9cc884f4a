// Pipelines kept on the disk: the driver sees what is exactly its own, and nothing else.
#include "formats/artifact/hash.h"
#include "tests/unit/runtime/vulkan/life.h"
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

namespace cache_test {

using namespace longwave;
using namespace longwave::test;

namespace {

namespace fs = std::filesystem;
constexpr size_t header_bytes = 120, hash_at = 88; // of an entry (runtime/vulkan/cache/cache.h)

std::string bytes_of(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path &file, const std::string &bytes) {
    fs::remove(file);
    std::ofstream(file, std::ios::binary) << bytes;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
}

// An opening with the folder as it is: it works, and tells how many bytes the driver was given.
uint64_t given_to_driver(const CacheFolder &folder, const std::vector<uint8_t> &bytes) {
    VulkanShim::reset();
    const std::string path = folder.path;
    const Life life = whole_life(bytes, {path.c_str(), false, false});
    CHECK(life.status == LW_OK);
    CHECK(life.stats.cached_models == (VulkanShim::cache_bytes() > 0));
    CHECK(VulkanShim::alive() == 0);
    CHECK(taken == 0);
    return VulkanShim::cache_bytes();
}

std::string reason(const std::string &folder) {
    lw_vulkan_options options = through_shim();
    options.cache_folder = folder.c_str();
    lw_device *device = nullptr;
    REQUIRE(lw_vulkan_open(&options, &device) == LW_OK);
    lw_vulkan_info info{};
    info.struct_size = sizeof info;
    CHECK(lw_vulkan_get_info(device, &info) == LW_OK);
    lw_vulkan_close(device);
    return info.no_cache;
}

} // namespace

TEST_CASE("vulkan cache: the second opening has the pipelines of the first, in a folder of the owner alone") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    const CacheFolder folder;
    CHECK(given_to_driver(folder, bytes) == 0);
    REQUIRE(folder.files().size() == 1);
    const fs::path file = folder.files()[0];
    struct stat info;
    CHECK((stat(folder.path.c_str(), &info) == 0 && (info.st_mode & 0777) == 0700));
    CHECK((stat(file.c_str(), &info) == 0 && (info.st_mode & 0777) == 0600));
    const std::string entry = bytes_of(file);
    CHECK(given_to_driver(folder, bytes) == entry.size() - header_bytes);
    CHECK(folder.files().size() == 1);
    CHECK(given_to_driver(folder, gpu_model([] {
                                      fb::ModulesT other = gpu_manifest();
                                      other.shared_bytes = 8192;
                                      return other;
                                  }())
                                      .bytes()) == 0); // of another artifact
    CHECK(folder.files().size() == 2);
}

TEST_CASE("vulkan cache: a truncated or damaged entry is no entry, wherever the damage is, and is replaced") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    const CacheFolder folder;
    given_to_driver(folder, bytes);
    const fs::path file = folder.files()[0];
    const std::string good = bytes_of(file);
    std::vector<std::string> bad = {"", good + "x"};
    for (size_t cut : {size_t{1}, header_bytes - 1, header_bytes, good.size() / 2, good.size() - 1})
        bad.push_back(good.substr(0, cut));
    for (size_t at = 0; at < header_bytes; at += 4) {
        bad.push_back(good);
        bad.back()[at] ^= 1;
    }
    for (size_t at : {header_bytes, header_bytes + 16, good.size() - 1}) {
        bad.push_back(good);
        bad.back()[at] ^= 0x10;
    }
    for (const std::string &entry : bad) {
        write(file, entry);
        CHECK(given_to_driver(folder, bytes) == 0);
        CHECK(given_to_driver(folder, bytes) > 0);
    }
    CHECK(folder.files().size() == 1); // no temporary file stays
}

TEST_CASE("vulkan cache: what another device or driver kept is foreign, even under our name and whole") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    const CacheFolder folder;
    given_to_driver(folder, bytes);
    const fs::path ours = folder.files()[0];
    void (*const others[])(VkPhysicalDeviceProperties *) = {
        [](VkPhysicalDeviceProperties *p) { ++p->driverVersion; },
        [](VkPhysicalDeviceProperties *p) { ++p->deviceID; },
        [](VkPhysicalDeviceProperties *p) { ++p->vendorID; },
        [](VkPhysicalDeviceProperties *p) { ++p->pipelineCacheUUID[3]; },
    };
    for (const auto other : others) {
        VulkanShim::properties = other;
        CHECK(given_to_driver(folder, bytes) == 0);
    }
    VulkanShim::properties = nullptr;
    // Three of the four say in Vulkan's own header that they are another's, so that nothing was
    // kept for them.
    REQUIRE(folder.files().size() == 2);
    const fs::path theirs = folder.files()[folder.files()[0] == ours ? 1 : 0];
    write(ours, bytes_of(theirs));
    CHECK(given_to_driver(folder, bytes) == 0);
    // With our header made good over bytes that Vulkan's header calls another device's.
    std::string forged = bytes_of(ours);
    for (size_t at : {size_t{0}, size_t{4}, size_t{8}, size_t{12}, size_t{16}}) {
        std::string entry = forged;
        entry[header_bytes + at] ^= 1;
        memset(&entry[hash_at], 0, artifact::hash_bytes);
        uint8_t hash[artifact::hash_bytes];
        artifact::hash(entry.data(), entry.size(), hash);
        memcpy(&entry[hash_at], hash, sizeof hash);
        write(ours, entry);
        CHECK(given_to_driver(folder, bytes) == 0);
    }
}

TEST_CASE("vulkan cache: a folder or file that others could have written is not used") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    const CacheFolder folder;
    given_to_driver(folder, bytes);
    const fs::path file = folder.files()[0];
    CHECK(reason(folder.path) == "");
    chmod(file.c_str(), 0620);
    CHECK(given_to_driver(folder, bytes) == 0); // and one of our own takes its place
    CHECK(given_to_driver(folder, bytes) > 0);
    fs::rename(file, folder.above / "elsewhere");
    fs::create_symlink(folder.above / "elsewhere", file);
    CHECK(given_to_driver(folder, bytes) == 0);
    CHECK(!fs::is_symlink(file));
    chmod(folder.path.c_str(), 0770);
    CHECK(reason(folder.path).find("other users") != std::string::npos);
    CHECK(given_to_driver(folder, bytes) == 0);
    chmod(folder.path.c_str(), 0700);
    CHECK(given_to_driver(folder, bytes) > 0);
    fs::create_directory_symlink(folder.path, folder.above / "link");
    CHECK(reason(folder.above / "link").find("cannot be opened") != std::string::npos);
    CHECK(reason(folder.above / "not" / "there").find("cannot be opened") != std::string::npos);
    CHECK(reason(file).find("cannot be opened") != std::string::npos);
}

TEST_CASE("vulkan cache: the oldest entries go when the folder grows too large, and nothing else in it") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    const CacheFolder folder;
    fs::create_directory(folder.path);
    fs::permissions(folder.path, fs::perms::owner_all);
    const auto old_file = [&](const std::string &name, int hours) {
        const fs::path file = folder.path / name;
        write(file, "");
        fs::resize_file(file, 100 << 20); // sparse
        fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
        return file;
    };
    const std::string digits(31, 'a');
    const fs::path oldest = old_file(digits + "1.lwvk", 5), middle = old_file(digits + "2.lwvk", 4),
                   newest = old_file(digits + "3.lwvk", 3), strange = old_file("notes", 9),
                   unfinished = old_file(digits + "4.lwvk.77.1", 2);
    given_to_driver(folder, bytes);
    CHECK(!fs::exists(oldest));
    CHECK(fs::exists(middle));
    CHECK(fs::exists(newest));
    CHECK(fs::exists(strange));
    CHECK(!fs::exists(unfinished));
}

} // namespace cache_test
