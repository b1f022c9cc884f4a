// Payloads of the messages of tools/runner/wire.h.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace longwave::cli {

// The payload of a reply, read in order. Reading past its end gives zeros and sets failed().
class Message {
public:
    explicit Message(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
    template <class T> T take() {
        T value{};
        take_bytes(&value, sizeof value);
        return value;
    }
    std::vector<float> floats(uint64_t n) {
        if (n > left() / sizeof(float)) failed_ = true;
        std::vector<float> values(failed_ ? 0 : n);
        take_bytes(values.data(), values.size() * sizeof(float));
        return values;
    }
    size_t left() const { return failed_ ? 0 : bytes_.size() - at_; }
    bool failed() const { return failed_; }
    const std::vector<uint8_t> &bytes() const { return bytes_; }

private:
    void take_bytes(void *to, size_t n) {
        failed_ |= n > bytes_.size() - at_;
        if (failed_ || n == 0) return;
        std::memcpy(to, bytes_.data() + at_, n);
        at_ += n;
    }
    std::vector<uint8_t> bytes_;
    size_t at_ = 0;
    bool failed_ = false;
};

// The payload of a request.
class Request {
public:
    template <class T> Request &put(T value) { return put_bytes(&value, sizeof value); }
    Request &put_bytes(const void *bytes, size_t n) {
        const auto *from = static_cast<const uint8_t *>(bytes);
        bytes_.insert(bytes_.end(), from, from + n);
        return *this;
    }
    Request &put_text(const std::string &text) {
        return put(static_cast<uint32_t>(text.size())).put_bytes(text.data(), text.size());
    }
    std::span<const uint8_t> bytes() const { return bytes_; }

private:
    std::vector<uint8_t> bytes_;
};

} // namespace longwave::cli
