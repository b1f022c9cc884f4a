// A longwave-runner in another process: under an emulator, or on a board behind a command such as
// ssh. The messages are those of tools/runner/wire.h. Its replies are untrusted.
#pragma once
#include "formats/base/expected.h"
#include "formats/base/status.h"
#include "tools/cli/model/model.h"
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <longwave/longwave.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace longwave::cli {

// Payloads of the messages of tools/runner/wire.h.

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

// The bytes between this program and a longwave-runner.

class Channel {
public:
    virtual ~Channel() = default;
    // A whole request, in two pieces. The time limit of its reply begins. Fault::device: the other
    // end is gone, or sends before it has read the request, or the time is over.
    virtual Status send(std::span<const uint8_t> head, std::span<const uint8_t> payload) = 0;
    // Exactly so many bytes of the reply. Fault::device likewise.
    virtual Status receive(std::span<uint8_t> to) = 0;
    // The other end broke the rules of wire.h: `how` continues its name.
    virtual Status broken(const std::string &how) = 0;
};

struct Question {
    uint32_t what;      // of wire.h
    uint32_t which = 0; // number of a stream
    const Request &request;
    std::string doing; // for messages
    uint64_t most = 0; // bytes of the reply, at most
};

class Remote {
public:
    explicit Remote(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

    // Sends a request and waits for its reply. `which`: where the reply's number goes; null: it must
    // be that of the question. Fault::check: the runner says LW_CHECK_FAILED. Fault::device: it says
    // something else than LW_OK, or broke a rule of wire.h. Nothing is asked of it afterwards.
    Expected<Message> ask(const Question &question, uint32_t *which = nullptr);

private:
    Expected<Message> answer(const Question &question, uint32_t *which);
    std::unique_ptr<Channel> channel_;
    Status broken_; // the first failure of the channel
};

// The payloads of a longwave-runner's replies, checked against the model that it was sent. Whoever
// gets values from here may index outputs by them.

// What of a model decides the size of replies.
struct ReplySizes {
    std::vector<lw_output_info> run_outputs, stream_outputs;
    uint64_t state_bytes = 0; // a saved state, at most
    uint64_t largest_lag = 0; // input ticks between a push and the last of its rows, at most
    // Bytes of a reply, at most: the rows of a stream after `ticks` more, and those of an offline
    // run of `ticks`.
    uint64_t rows(uint64_t ticks) const;
    uint64_t run(uint64_t ticks) const;
};

// Rows of a stream. Each has the index and the width of an output, and the numbers of each output
// follow each other. The row handler is not called when one row of the reply is wrong.
Status read_rows(Message in, const ReplySizes &sizes, const OnRow &row);
// Rows of an offline run of `ticks`, by output: as many as its clock gives.
Expected<std::vector<std::vector<float>>> read_run(Message in, const ReplySizes &sizes, uint64_t ticks);
// The worst error of the golden vectors: a number that is not negative.
Expected<double> read_verdict(Message in);
// Of a request that has no payload as its reply.
Status read_nothing(const Message &in);
// That the runner speaks this version of wire.h.
Status read_version(Message in);

} // namespace longwave::cli
