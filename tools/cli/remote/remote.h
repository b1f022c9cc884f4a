// A longwave-runner in another process: under an emulator, or on a board behind a command such as
// ssh. The messages are those of tools/runner/wire.h. Its replies are untrusted: replies.h.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/remote/channel.h"
#include "tools/cli/remote/message.h"
#include <memory>

namespace longwave::cli {

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

} // namespace longwave::cli
