// A longwave-runner in another process: under an emulator, or on a board behind a command such as
// ssh. The messages are those of tools/runner/wire.h.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <memory>
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
    std::string text();
    std::vector<float> floats(uint64_t n);
    bool at_end() const { return failed_ || at_ == bytes_.size(); }
    bool failed() const { return failed_; }
    const std::vector<uint8_t> &bytes() const { return bytes_; }

private:
    void take_bytes(void *to, size_t n);
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

class Remote {
public:
    // command[0] is a path, or a name looked up in PATH. Fault::device: it cannot be started.
    static Expected<std::shared_ptr<Remote>> start(std::vector<std::string> command);
    ~Remote();
    Remote(const Remote &) = delete;
    Remote &operator=(const Remote &) = delete;

    // Sends a request and waits for its reply. `which`: number of a stream; set to the reply's. A
    // status other than LW_OK becomes the Fault that status_of gives it, with `doing` in front of
    // the detail. Fault::device: the program ended, or gave no answer in ten minutes.
    Expected<Message> ask(uint32_t what, uint32_t *which, const Request &request, const std::string &doing);

private:
    Remote() = default;
    Status broken(const std::string &how);
    std::string name_; // the command, for messages
    int channel_ = -1;
    pid_t process_ = -1;
};

} // namespace longwave::cli
