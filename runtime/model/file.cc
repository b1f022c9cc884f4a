#include "runtime/model/file.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::runtime {

File::~File() {
    if (file_ >= 0) ::close(file_);
}

bool File::open(const char *path) {
    do file_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe must not hold us up
    while (file_ < 0 && errno == EINTR);
    struct stat status;
    if (file_ < 0 || fstat(file_, &status) != 0) {
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

bool File::read(uint8_t *to, uint64_t bytes) {
    while (bytes > 0) {
        const ssize_t n = ::read(file_, to, bytes < (1u << 30) ? bytes : (1u << 30));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            error_ = n < 0 ? errno : EIO; // shorter than it was
            return false;
        }
        to += n;
        bytes -= static_cast<uint64_t>(n);
    }
    return true;
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

} // namespace longwave::runtime
