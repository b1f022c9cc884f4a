#include "formats/audio/bytes.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::audio {

Expected<Bytes> Bytes::open(const std::string &path, const std::atomic<bool> *stop) {
    const bool standard = path == "-";
    const int fd = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return Status::input(path + ": cannot be opened: " + std::strerror(errno));
    struct stat info = {};
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        if (!standard) ::close(fd);
        return Status::input(path + ": is a folder, not an audio file");
    }
    return Bytes(fd, standard ? "standard input" : path, !S_ISREG(info.st_mode), stop);
}

Bytes::Bytes(Bytes &&other) noexcept
    : fd_(other.fd_), name_(std::move(other.name_)), pipe_(other.pipe_), stop_(other.stop_),
      ahead_(std::move(other.ahead_)) {
    other.fd_ = -1;
}

Bytes::~Bytes() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
}

Status Bytes::failed() const { return Status::input(name_ + ": cannot be read: " + std::strerror(errno)); }

Expected<size_t> Bytes::some(void *out, size_t n) {
    if (!ahead_.empty()) {
        const size_t taken = std::min(n, ahead_.size());
        std::memcpy(out, ahead_.data(), taken);
        ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(taken));
        return taken;
    }
    while (!stop_ || !*stop_) {
        const ssize_t got = ::read(fd_, out, n);
        if (got >= 0) return static_cast<size_t>(got);
        if (errno != EINTR) return failed();
    }
    return size_t{0};
}

Expected<size_t> Bytes::all(void *out, size_t n) {
    size_t done = 0;
    while (done < n) {
        LW_ASSIGN(const size_t got, some(static_cast<uint8_t *>(out) + done, n - done));
        if (got == 0) break;
        done += got;
    }
    return done;
}

Expected<std::vector<uint8_t>> Bytes::peek(size_t n) {
    std::vector<uint8_t> bytes(n);
    LW_ASSIGN(const size_t got, all(bytes.data(), n));
    bytes.resize(got);
    ahead_.insert(ahead_.begin(), bytes.begin(), bytes.end());
    return bytes;
}

Status Bytes::skip(uint64_t n, const char *what) {
    uint8_t sink[4096];
    while (n > 0) {
        LW_ASSIGN(const size_t got, some(sink, static_cast<size_t>(std::min<uint64_t>(n, sizeof sink))));
        if (got == 0) return Status::input(name_ + ": ends in the middle of " + what);
        n -= got;
    }
    return {};
}

Expected<uint64_t> Bytes::place() const {
    const off_t at = lseek(fd_, 0, SEEK_CUR);
    if (at < 0) return failed();
    return static_cast<uint64_t>(at) - ahead_.size();
}

Expected<uint64_t> Bytes::size() const {
    struct stat info = {};
    if (fstat(fd_, &info) < 0) return failed();
    return static_cast<uint64_t>(info.st_size);
}

Status Bytes::move_to(uint64_t place) {
    ahead_.clear();
    return lseek(fd_, static_cast<off_t>(place), SEEK_SET) < 0 ? failed() : Status();
}

} // namespace longwave::audio
