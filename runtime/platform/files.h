// An input file: opened once, read front to back or mapped.
#pragma once
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace longwave::platform {

class File {
public:
    File() = default;
    ~File();
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    // `path`: UTF-8, as the system names it. Regular files only. False: error() says why.
    bool open(const char *path);
    // As open, but pipes and devices as well. They have no size.
    bool open_any(const char *path);
    uint64_t size() const { return size_; }
    bool read(uint8_t *to, uint64_t bytes); // the next bytes, all of them or false
    // The next bytes, as many as there are now. 0: the end. Negative: error() says why.
    int64_t read_some(void *to, uint64_t bytes);
    const uint8_t *map() const; // the whole file, read only; null on failure
    static void unmap(const uint8_t *mapping, uint64_t bytes);

    int error() const { return error_; } // errno of the last failure, for strerror
    bool missing() const;
    bool irregular() const { return irregular_; } // a folder, pipe or device

private:
    bool open_with(const char *path, int flags);

    int file_ = -1; // the system's name of it
    uint64_t size_ = 0;
    mutable int error_ = 0;
    bool irregular_ = false;
};

inline bool File::read(uint8_t *to, uint64_t bytes) {
    while (bytes > 0) {
        const int64_t n = read_some(to, bytes);
        if (n == 0) error_ = EIO; // shorter than it was
        if (n <= 0) return false;
        to += n;
        bytes -= static_cast<uint64_t>(n);
    }
    return true;
}

} // namespace longwave::platform
