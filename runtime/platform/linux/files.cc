#include "runtime/platform/files.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::platform {

File::~File() {
    if (file_ >= 0) ::close(file_);
}

bool File::open_with(const char *path, int flags) {
    do file_ = ::open(path, O_RDONLY | O_CLOEXEC | flags);
    while (file_ < 0 && errno == EINTR);
    if (file_ < 0) error_ = errno;
    return file_ >= 0;
}

bool File::open_any(const char *path) { return open_with(path, 0); }

bool File::open(const char *path) {
    if (!open_with(path, O_NONBLOCK)) return false; // a pipe must not hold us up
    struct stat status;
    if (fstat(file_, &status) != 0) {
        error_ = errno;
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        error_ = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        irregular_ = true;
        return false;
    }
    size_ = static_cast<uint64_t>(status.st_size);
    return true;
}

int64_t File::read_some(void *to, uint64_t bytes) {
    ssize_t n;
    do n = ::read(file_, to, bytes < (1u << 30) ? bytes : (1u << 30));
    while (n < 0 && errno == EINTR);
    if (n < 0) error_ = errno;
    return n;
}

const uint8_t *File::map() const {
    if (size_ > SIZE_MAX / 2) {
        error_ = EOVERFLOW;
        return nullptr;
    }
    void *mapping = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_, 0);
    if (mapping != MAP_FAILED) return static_cast<const uint8_t *>(mapping);
    error_ = errno;
    return nullptr;
}

void File::unmap(const uint8_t *mapping, uint64_t bytes) { munmap(const_cast<uint8_t *>(mapping), bytes); }

bool File::missing() const { return error_ == ENOENT || error_ == ENOTDIR; }

} // namespace longwave::platform
