#include "runtime/vulkan/cache/cache.h"
#include "formats/artifact/hash.h"
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

constexpr int64_t forgotten = 3600; // seconds after which nobody writes a temporary file any more

const char *text_of(platform::PrivateFolder::Fault fault) {
    using Fault = platform::PrivateFolder::Fault;
    switch (fault) {
    case Fault::none: break;
    case Fault::not_a_folder: return "cache_folder cannot be opened as a folder";
    case Fault::unknown: return "cache_folder cannot be looked at";
    case Fault::of_another_user: return "cache_folder belongs to another user";
    case Fault::writable_by_others: return "cache_folder may be written by other users (chmod 700)";
    }
    return nullptr;
}

} // namespace

const char *Cache::open(const char *folder, const VkPhysicalDeviceProperties &device) {
    memcpy(device_.magic, "lwvk\r\n\x1a\1", sizeof device_.magic);
    device_.runtime = LW_VERSION_MAJOR << 20 | LW_VERSION_MINOR << 10 | LW_VERSION_PATCH;
    device_.vendor = device.vendorID;
    device_.device = device.deviceID;
    device_.driver = device.driverVersion;
    memcpy(device_.uuid, device.pipelineCacheUUID, sizeof device_.uuid);
    return text_of(folder_.open(folder));
}

Cache::Header Cache::expected(Kind kind, const uint8_t *artifact) const {
    Header header = device_;
    header.kind = static_cast<uint32_t>(kind);
    memcpy(header.artifact, artifact, sizeof header.artifact);
    return header;
}

void Cache::name_of(const Header &header, char *name) {
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(&header, sizeof header, digest);
    for (int i = 0; i < 16; ++i) {
        *name++ = "0123456789abcdef"[digest[i] >> 4];
        *name++ = "0123456789abcdef"[digest[i] & 15];
    }
    memcpy(name, ".lwvk", 6);
}

void Cache::seal(Header *header, const void *data) {
    memset(header->hash, 0, sizeof header->hash);
    artifact::Hasher hasher;
    hasher.update(header, sizeof *header);
    hasher.update(data, header->bytes);
    hasher.finish(header->hash);
}

bool Cache::read(Kind kind, const uint8_t *artifact, const lw_allocator &allocator, Block *block,
                 const uint8_t **data, uint64_t *bytes) const {
    if (!folder_.is_open()) return false;
    Header wanted = expected(kind, artifact);
    char name[name_bytes];
    name_of(wanted, name);
    platform::PrivateFolder::Reading file(folder_, name);
    bool good =
        file.good() && file.size() >= sizeof(Header) && file.size() <= sizeof(Header) + most_entry_bytes;
    good = good && block->allocate(allocator, file.size());
    good = good && file.read(block->data, block->size);
    if (good) {
        wanted.bytes = block->size - sizeof(Header);
        *data = block->data + sizeof(Header);
        *bytes = wanted.bytes;
        seal(&wanted, *data);
        good = memcmp(block->data, &wanted, sizeof wanted) == 0;
    }
    if (!good) block->release(allocator);
    return good;
}

void Cache::write(Kind kind, const uint8_t *artifact, const void *data, uint64_t bytes) const {
    if (!folder_.is_open() || bytes > most_entry_bytes) return;
    Header header = expected(kind, artifact);
    char name[name_bytes];
    name_of(header, name);
    header.bytes = bytes;
    seal(&header, data);
    const platform::PrivateFolder::Piece pieces[] = {{&header, sizeof header}, {data, bytes}};
    folder_.write(name, pieces, 2);
    trim();
}

namespace {

struct Trimming {
    const platform::PrivateFolder *folder;
    uint64_t total;
    int64_t age; // of the oldest entry
    char oldest[Cache::name_bytes];
};

void see(void *context, const char *name, uint64_t bytes, int64_t age) {
    Trimming &trimming = *static_cast<Trimming *>(context);
    const char *kind = strstr(name, ".lwvk");
    if (!kind || kind != name + 32) return;
    if (kind[5] != 0) {
        if (age > forgotten) trimming.folder->remove(name);
        return;
    }
    trimming.total += bytes;
    if (trimming.oldest[0] && age <= trimming.age) return;
    trimming.age = age;
    memcpy(trimming.oldest, name, sizeof trimming.oldest);
}

} // namespace

// Each pass drops the oldest entry while the rest is too large; temporary files that nobody
// finished go as well.
void Cache::trim() const {
    for (;;) {
        Trimming trimming{&folder_, 0, 0, ""};
        if (!folder_.list(see, &trimming)) return;
        if (trimming.total <= most_bytes || !trimming.oldest[0] || !folder_.remove(trimming.oldest)) return;
    }
}

} // namespace longwave::runtime::vulkan
