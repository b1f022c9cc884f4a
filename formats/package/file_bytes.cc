#include "formats/package/file_bytes.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::package {
namespace {

struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0) close(fd);
    }
};

Status refused(const std::string &path, int error) {
    return Status::input(path + ": cannot be read: " + std::strerror(error));
}

} // namespace

Expected<std::vector<uint8_t>> read_file(const std::string &path, uint64_t limit) {
    Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)}; // a pipe must not make us wait
    if (file.fd < 0) return refused(path, errno);
    struct stat info;
    if (fstat(file.fd, &info) != 0) return refused(path, errno);
    if (S_ISDIR(info.st_mode)) return refused(path, EISDIR);
    if (!S_ISREG(info.st_mode)) return Status::input(path + ": cannot be read: not a regular file");
    uint64_t size = static_cast<uint64_t>(info.st_size);
    if (size > limit) {
        return Status::input(path + ": expected at most " + std::to_string(limit) + " bytes, found " +
                             std::to_string(size));
    }
    std::vector<uint8_t> bytes(size);
    for (uint64_t done = 0; done < size;) {
        ssize_t n = read(file.fd, bytes.data() + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refused(path, errno);
        if (n == 0)
            return Status::input(path + ": became shorter while it was read: expected " +
                                 std::to_string(size) + " bytes, found " + std::to_string(done));
        done += static_cast<uint64_t>(n);
    }
    return bytes;
}

} // namespace longwave::package
