// Bytes of a file or pipe, in order, with a look ahead at the first ones.
#pragma once
#include "formats/base/expected.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::audio {

class Bytes {
public:
    static Expected<Bytes> open(const std::string &path, const std::atomic<bool> *stop);
    Bytes(Bytes &&other) noexcept;
    Bytes &operator=(Bytes &&) = delete;
    ~Bytes();

    // One read: at least one byte unless at the end (0).
    Expected<size_t> some(void *out, size_t n);
    // Reads until n bytes are there or the input ends.
    Expected<size_t> all(void *out, size_t n);
    // The next bytes without consuming them: at most n, fewer only at the end of the input.
    Expected<std::vector<uint8_t>> peek(size_t n);
    // Reads n bytes and drops them. `what` ends too early otherwise.
    Status skip(uint64_t n, const char *what);

    const std::string &name() const { return name_; } // for messages
    bool pipe() const { return pipe_; }               // cannot seek

    // Only of a file: the place of the next byte, the size, and another place.
    Expected<uint64_t> place() const;
    Expected<uint64_t> size() const;
    Status move_to(uint64_t place);

private:
    Bytes(int fd, std::string name, bool pipe, const std::atomic<bool> *stop)
        : fd_(fd), name_(std::move(name)), pipe_(pipe), stop_(stop) {}
    Status failed() const;
    int fd_;
    std::string name_;
    bool pipe_;
    const std::atomic<bool> *stop_;
    std::vector<uint8_t> ahead_;
};

} // namespace longwave::audio
