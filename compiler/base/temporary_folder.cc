#include "compiler/base/temporary_folder.h"
#include "compiler/base/process_cleanup.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <new>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace longwave::compiler {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t full = 1 << 20; // bytes: a disk that has fewer left counts as full
constexpr const char *prefix = "longwave-compile-";
constexpr time_t forgotten = 24 * 3600; // seconds after which no compile writes into its folder any more

struct Parent {
    std::string path, name; // name: what the user knows it by
};

Parent parent() {
    const char *given = std::getenv("TMPDIR");
    if (given && *given) return {given, std::string("TMPDIR=") + given};
    return {"/tmp", "/tmp"};
}

// Folders of compiles that were killed.
void remove_forgotten(const std::string &parent) {
    std::error_code error, ignored;
    for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
        const fs::path &path = at->path();
        struct stat info;
        if (path.filename().string().starts_with(prefix) && lstat(path.c_str(), &info) == 0 &&
            S_ISDIR(info.st_mode) && info.st_uid == geteuid() && info.st_mtime + forgotten < time(nullptr))
            fs::remove_all(path, ignored);
    }
}

} // namespace

Expected<TemporaryFolder> TemporaryFolder::create() {
    const Parent in = parent();
    remove_forgotten(in.path);
    int reason = 0;
    fs::path path = unfinished::make_folder([&]() -> fs::path {
        std::string name = (fs::path(in.path) / prefix).string() + "XXXXXX";
        if (!mkdtemp(name.data())) {
            reason = errno;
            return {};
        }
        try {
            return fs::path(name); // a copy: the name is needed where that fails
        } catch (const std::bad_alloc &) {
            rmdir(name.c_str());
            throw;
        }
    });
    if (!path.empty()) return TemporaryFolder(std::move(path));
    return Status::device(fmt::format(
        "{}: no temporary folder can be made there: {}; set TMPDIR to a folder with some megabytes to spare",
        in.name, std::strerror(reason)));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
}

TemporaryFolder::~TemporaryFolder() {
    if (!path_.empty()) unfinished::remove_folder(path_);
}

Status TemporaryFolder::explained(Status failure) const {
    struct statvfs disk;
    if (statvfs(path_.c_str(), &disk) != 0) return failure;
    const uint64_t left = uint64_t{disk.f_bavail} * disk.f_frsize;
    const bool counts_files = disk.f_files != 0, no_files_left = counts_files && disk.f_favail == 0;
    if (left >= full && !no_files_left) return failure;
    return Status::device(fmt::format(
        "{}: the disk is full: {} bytes are left; make room there, or set TMPDIR to another folder",
        parent().name, left));
}

} // namespace longwave::compiler
