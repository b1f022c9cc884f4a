#include "runtime/platform/folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace longwave::platform {
namespace {

// Why what is opened here may not be believed.
PrivateFolder::Fault mistrust(const struct stat &info) {
    if (info.st_uid != geteuid()) return PrivateFolder::Fault::of_another_user;
    if (info.st_mode & (S_IWGRP | S_IWOTH)) return PrivateFolder::Fault::writable_by_others;
    return PrivateFolder::Fault::none;
}

bool write_all(int file, const PrivateFolder::Piece &piece) {
    const auto *from = static_cast<const uint8_t *>(piece.data);
    for (uint64_t bytes = piece.bytes; bytes > 0;) {
        const ssize_t n = ::write(file, from, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        from += n;
        bytes -= static_cast<uint64_t>(n);
    }
    return true;
}

} // namespace

PrivateFolder::Fault PrivateFolder::open(const char *path) {
    (void)mkdir(path, 0700);
    folder_ = ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder_ < 0) return Fault::not_a_folder;
    struct stat info;
    const Fault fault = fstat(folder_, &info) == 0 ? mistrust(info) : Fault::unknown;
    if (fault != Fault::none) close();
    return fault;
}

void PrivateFolder::close() {
    if (folder_ >= 0) ::close(folder_);
    folder_ = -1;
}

PrivateFolder::Reading::Reading(const PrivateFolder &folder, const char *name) {
    // A link leads to a file that is not ours to believe, a pipe would make us wait.
    file_ = openat(folder.folder_, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file_ < 0) return;
    struct stat info;
    if (fstat(file_, &info) == 0 && S_ISREG(info.st_mode) && mistrust(info) == Fault::none) {
        size_ = static_cast<uint64_t>(info.st_size);
    } else {
        ::close(file_);
        file_ = -1;
    }
}

PrivateFolder::Reading::~Reading() {
    if (file_ >= 0) ::close(file_);
}

bool PrivateFolder::Reading::read(uint8_t *to, uint64_t bytes) {
    while (bytes > 0) {
        const ssize_t n = ::read(file_, to, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        to += n;
        bytes -= static_cast<uint64_t>(n);
    }
    return true;
}

void PrivateFolder::write(const char *name, const Piece *pieces, uint32_t n) const {
    timespec now{}; // two threads of one process may write the same file
    clock_gettime(CLOCK_MONOTONIC, &now);
    char temporary[longest_name + 48];
    snprintf(temporary, sizeof temporary, "%s.%ld.%lx", name, static_cast<long>(getpid()),
             static_cast<unsigned long>(now.tv_nsec));
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int file = openat(folder_, temporary, flags, 0600);
    if (file < 0) return;
    bool good = true;
    for (uint32_t p = 0; good && p < n; ++p) good = write_all(file, pieces[p]);
    good = ::close(file) == 0 && good;
    if (!good || renameat(folder_, temporary, folder_, name) != 0) unlinkat(folder_, temporary, 0);
}

bool PrivateFolder::remove(const char *name) const { return unlinkat(folder_, name, 0) == 0; }

bool PrivateFolder::list(See see, void *context) const {
    const int again = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? nullptr : fdopendir(again);
    if (!list) {
        if (again >= 0) ::close(again);
        return false;
    }
    const time_t now = time(nullptr);
    while (const dirent *entry = readdir(list)) {
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (fstatat(folder_, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0)
            see(context, entry->d_name, static_cast<uint64_t>(info.st_size), int64_t{now} - info.st_mtime);
    }
    closedir(list);
    return true;
}

} // namespace longwave::platform
