#include "compiler/codegen/kernel_cache_folder.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::compiler {
namespace {

namespace fs = std::filesystem;

constexpr off_t max_entry = 64 << 20; // bytes; kernels have some ten thousand

struct Descriptor {
    int file;
    ~Descriptor() {
        if (file >= 0) close(file);
    }
};

// An absolute path in the environment, or nothing: a relative one would be another folder wherever
// the program is started.
std::optional<fs::path> folder_in(const char *variable) {
    const char *value = std::getenv(variable);
    if (!value || value[0] != '/') return std::nullopt;
    return value;
}

Expected<fs::path> place_of(const std::string &given) {
    if (!given.empty()) return fs::path(given);
    if (const auto base = folder_in("XDG_CACHE_HOME")) return *base / "longwave" / "kernels";
    if (const auto home = folder_in("HOME")) return *home / ".cache" / "longwave" / "kernels";
    // A folder that everybody shares is no substitute: its first owner would decide what runs.
    return Status::device("HOME is not set, and neither is XDG_CACHE_HOME");
}

// Missing folders on the way; returns the reason (errno) why one could not be made.
int make_folders(const fs::path &path) {
    fs::path so_far;
    for (const fs::path &part : path) {
        so_far /= part;
        if (mkdir(so_far.c_str(), 0700) != 0 && errno != EEXIST) return errno;
    }
    return 0;
}

// Why what is opened here may not be believed; null: it may.
const char *mistrust(const struct stat &info) {
    if (info.st_uid != geteuid()) return "belongs to another user";
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return "may be written by other users (chmod 700, after emptying it)";
    return nullptr;
}

bool read_all(int file, std::vector<uint8_t> &bytes) {
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t n = ::read(file, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += static_cast<size_t>(n);
    }
    return true;
}

bool write_all(int file, std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return true;
}

} // namespace

Expected<KernelCacheFolder> KernelCacheFolder::open(const std::string &given) {
    LW_ASSIGN(fs::path path, place_of(given));
    if (!path.has_filename()) path = path.parent_path(); // "folder/" would follow a link
    const int not_made = make_folders(path);
    KernelCacheFolder folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder.folder_ < 0) {
        const int reason = not_made ? not_made : errno;
        return Status::device(
            fmt::format("{}: cannot be opened as a folder: {}", path.string(), std::strerror(reason)));
    }
    struct stat info;
    if (fstat(folder.folder_, &info) != 0)
        return Status::device(fmt::format("{}: {}", path.string(), std::strerror(errno)));
    if (const char *why = mistrust(info)) return Status::device(fmt::format("{}: {}", path.string(), why));
    return folder;
}

KernelCacheFolder::KernelCacheFolder(KernelCacheFolder &&other) noexcept : folder_(other.folder_) {
    other.folder_ = -1;
}

KernelCacheFolder::~KernelCacheFolder() {
    if (folder_ >= 0) close(folder_);
}

std::optional<std::vector<uint8_t>> KernelCacheFolder::read(const std::string &name) const {
    // A link leads to a file that is not ours to believe, a pipe would make us wait.
    const Descriptor file{openat(folder_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    struct stat info;
    if (file.file < 0 || fstat(file.file, &info) != 0) return std::nullopt;
    if (!S_ISREG(info.st_mode) || mistrust(info) || info.st_size > max_entry) return std::nullopt;
    std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
    if (!read_all(file.file, bytes)) return std::nullopt;
    return bytes;
}

void KernelCacheFolder::write(const std::string &name, std::span<const uint8_t> bytes) const {
    // No temporary name that an interrupted program would leave: a reader takes half an entry for
    // none. Empty folders in the way go as well.
    if (unlinkat(folder_, name.c_str(), 0) != 0 && errno == EISDIR)
        unlinkat(folder_, name.c_str(), AT_REMOVEDIR);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const Descriptor file{openat(folder_, name.c_str(), flags, 0600)};
    if (file.file < 0) return;
    if (!write_all(file.file, bytes)) unlinkat(folder_, name.c_str(), 0);
}

} // namespace longwave::compiler
