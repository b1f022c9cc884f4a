// Small files that a device leaves for its next time: compiled pipelines, and that its answers were
// proved. One a kind, device, driver and artifact; anything else is not an entry. Nothing here is a
// failure: without an entry the work is done once more.
#pragma once
#include "formats/artifact/header.h"
#include "runtime/core/memory.h"
#include "runtime/platform/folder.h"
#include <vulkan/vulkan.h>

namespace longwave::runtime::vulkan {

class Cache {
public:
    // proof_of_chains: of steps that share dispatches.
    enum class Kind : uint32_t { pipelines = 1, proof = 2, proof_of_chains = 3, variants = 4 };
    // Entries are no larger, and a folder's newest ones of so many bytes in all stay.
    static constexpr uint64_t most_entry_bytes = 32u << 20, most_bytes = 256u << 20;
    static constexpr uint32_t name_bytes = 38; // 32 digits, ".lwvk", 0

    // Makes the folder (not those it lies in), for its owner alone. Null, or why it is not used: it
    // belongs to another user, or others may write there.
    const char *open(const char *folder, const VkPhysicalDeviceProperties &device);
    void close() { folder_.close(); }
    explicit operator bool() const { return folder_.is_open(); }

    // `artifact`: its root hash. The entry's bytes lie in `block` from *data on; false: there is
    // none.
    bool read(Kind kind, const uint8_t *artifact, const lw_allocator &allocator, Block *block,
              const uint8_t **data, uint64_t *bytes) const;
    // As a whole or not at all, whoever reads meanwhile. What is oldest goes where the folder grows
    // too large.
    void write(Kind kind, const uint8_t *artifact, const void *data, uint64_t bytes) const;

private:
    // In the order of the file. Hosts of another byte order take it for foreign.
    struct Header {
        char magic[8];
        uint32_t kind, runtime; // the latter: version of this library
        uint32_t vendor, device, driver, reserved;
        uint8_t uuid[VK_UUID_SIZE]; // of device and driver together: pipelineCacheUUID
        uint8_t artifact[artifact::hash_bytes];
        uint64_t bytes;                     // behind the header
        uint8_t hash[artifact::hash_bytes]; // of the header, with zeros here, and of them
    };
    Header expected(Kind kind, const uint8_t *artifact) const;
    static void name_of(const Header &header, char *name);
    static void seal(Header *header, const void *data);
    void trim() const;

    platform::PrivateFolder folder_;
    Header device_{}; // what entries of this device begin with
};

} // namespace longwave::runtime::vulkan
