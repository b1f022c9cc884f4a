#include "runtime/vulkan/cache/cache.h"
#include "formats/artifact/hash.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace longwave::runtime::vulkan {
namespace {

constexpr time_t forgotten = 3600; // seconds after which nobody writes a temporary file any more

// Why what is opened here may not be believed; null: it may.
const char *mistrust(const struct stat &info) {
    if (info.st_uid != geteuid()) return "cache_folder belongs to another user";
    if (info.st_mode & (S_IWGRP | S_IWOTH)) return "cache_folder may be written by other users (chmod 700)";
    return nullptr;
}

bool read_all(int file, uint8_t *to, uint64_t bytes) {
    while (bytes > 0) {
        const ssize_t n = ::read(file, to, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        to += n;
        bytes -= static_cast<uint64_t>(n);
    }
    return true;
}

bool write_all(int file, const void *data, uint64_t bytes) {
    const auto *from = static_cast<const uint8_t *>(data);
    while (bytes > 0) {
        const ssize_t n = ::write(file, from, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        from += n;
        bytes -= static_cast<uint64_t>(n);
    }
    return true;
}

} // namespace

const char *Cache::open(const char *folder, const VkPhysicalDeviceProperties &device) {
    memcpy(device_.magic, "lwvk\r\n\x1a\1", sizeof device_.magic);
    device_.runtime = LW_VERSION_MAJOR << 20 | LW_VERSION_MINOR << 10 | LW_VERSION_PATCH;
    device_.vendor = device.vendorID;
    device_.device = device.deviceID;
    device_.driver = device.driverVersion;
    memcpy(device_.uuid, device.pipelineCacheUUID, sizeof device_.uuid);
    (void)mkdir(folder, 0700);
    folder_ = ::open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder_ < 0) return "cache_folder cannot be opened as a folder";
    struct stat info;
    const char *why = fstat(folder_, &info) == 0 ? mistrust(info) : "cache_folder cannot be looked at";
    if (why) close();
    return why;
}

void Cache::close() {
    if (folder_ >= 0) ::close(folder_);
    folder_ = -1;
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
    if (folder_ < 0) return false;
    Header wanted = expected(kind, artifact);
    char name[name_bytes];
    name_of(wanted, name);
    // A link leads to a file that is not ours to believe, a pipe would make us wait.
    const int file = openat(folder_, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    struct stat info;
    bool good = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && !mistrust(info) &&
                info.st_size >= off_t{sizeof(Header)} &&
                static_cast<uint64_t>(info.st_size) <= sizeof(Header) + most_entry_bytes;
    good = good && block->allocate(allocator, static_cast<uint64_t>(info.st_size));
    good = good && read_all(file, block->data, block->size);
    ::close(file);
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
    if (folder_ < 0 || bytes > most_entry_bytes) return;
    Header header = expected(kind, artifact);
    char name[name_bytes], temporary[name_bytes + 48];
    name_of(header, name);
    header.bytes = bytes;
    seal(&header, data);
    timespec now{}; // two threads of one process may write the same entry
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(temporary, sizeof temporary, "%s.%ld.%lx", name, static_cast<long>(getpid()),
             static_cast<unsigned long>(now.tv_nsec));
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int file = openat(folder_, temporary, flags, 0600);
    if (file < 0) return;
    bool good = write_all(file, &header, sizeof header) && write_all(file, data, bytes);
    good = ::close(file) == 0 && good;
    if (!good || renameat(folder_, temporary, folder_, name) != 0) unlinkat(folder_, temporary, 0);
    trim();
}

// Each pass drops the oldest entry while the rest is too large; temporary files that nobody
// finished go as well.
void Cache::trim() const {
    for (;;) {
        const int again = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *list = again < 0 ? nullptr : fdopendir(again);
        if (!list) {
            if (again >= 0) ::close(again);
            return;
        }
        uint64_t total = 0;
        char oldest[name_bytes] = "";
        time_t since = 0;
        while (const dirent *entry = readdir(list)) {
            const char *kind = strstr(entry->d_name, ".lwvk");
            struct stat info;
            if (!kind || kind != entry->d_name + 32) continue;
            if (fstatat(folder_, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
            if (kind[5] != 0) {
                if (info.st_mtime + forgotten < time(nullptr)) unlinkat(folder_, entry->d_name, 0);
                continue;
            }
            total += static_cast<uint64_t>(info.st_size);
            if (oldest[0] && info.st_mtime >= since) continue;
            since = info.st_mtime;
            memcpy(oldest, entry->d_name, sizeof oldest);
        }
        closedir(list);
        if (total <= most_bytes || !oldest[0] || unlinkat(folder_, oldest, 0) != 0) return;
    }
}

} // namespace longwave::runtime::vulkan
