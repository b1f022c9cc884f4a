// An input file: opened once, read front to back or mapped.
#pragma once
#include <cstddef>
#include <cstdint>

namespace longwave::runtime {

class File {
public:
    File() = default;
    ~File();
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    bool open(const char *path); // regular files only
    uint64_t size() const { return size_; }
    bool read(uint8_t *to, uint64_t bytes); // the next bytes, all of them or false
    const uint8_t *map() const;             // the whole file, read only; null on failure
    static void unmap(const uint8_t *mapping, uint64_t bytes);

    int error() const { return error_; } // errno of the last failure
    bool missing() const;
    bool irregular() const { return irregular_; } // a folder, pipe or device

private:
    int file_ = -1;
    uint64_t size_ = 0;
    mutable int error_ = 0;
    bool irregular_ = false;
};

} // namespace longwave::runtime
