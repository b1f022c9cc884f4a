#include "tools/cli/remote/remote.h"
#include "tools/cli/output/printable.h"
#include "tools/runner/wire.h"
#include <algorithm>
#include <longwave/longwave.h>

namespace longwave::cli {
namespace {

struct Head {
    uint32_t what, which; // of a reply: the status, as int32
    uint64_t bytes;
};

// Memory follows what arrives, not what the head says.
Status receive(Channel &channel, uint64_t n, std::vector<uint8_t> &payload) {
    constexpr uint64_t first = 1 << 16;
    while (payload.size() < n) {
        const size_t at = payload.size(),
                     piece = static_cast<size_t>(std::min(n - at, std::max<uint64_t>(first, at)));
        payload.resize(at + piece);
        LW_TRY(channel.receive(std::span(payload).subspan(at)));
    }
    return {};
}

// The detail of a runner's failure is foreign text.
Status refusal(uint32_t status, const std::string &doing, const std::vector<uint8_t> &detail) {
    std::string text = printable_start({reinterpret_cast<const char *>(detail.data()), detail.size()}, 300);
    if (text.empty()) text = lw_status_text(static_cast<lw_status>(status & LW_STATUS_FORCE));
    text = doing + ": longwave-runner: " + text;
    return status == LW_CHECK_FAILED ? Status::check(std::move(text)) : Status::device(std::move(text));
}

} // namespace

Expected<Message> Remote::ask(const Question &question, uint32_t *which) {
    if (!broken_) return broken_;
    return answer(question, which);
}

Expected<Message> Remote::answer(const Question &question, uint32_t *which) {
    const auto trust = [&](Status status) { return broken_ = std::move(status); };
    Head head{question.what, question.which, question.request.bytes().size()};
    LW_TRY(trust(
        channel_->send({reinterpret_cast<const uint8_t *>(&head), sizeof head}, question.request.bytes())));
    LW_TRY(trust(channel_->receive({reinterpret_cast<uint8_t *>(&head), sizeof head})));
    if (!which && head.which != question.which)
        return trust(channel_->broken("gave an answer to another request"));
    const uint64_t most = head.what == LW_OK ? question.most : uint64_t{wire_text};
    if (head.bytes > most)
        return trust(channel_->broken("gave an answer of " + std::to_string(head.bytes) + " bytes, where " +
                                      std::to_string(most) + " are the most"));
    std::vector<uint8_t> payload;
    LW_TRY(trust(receive(*channel_, head.bytes, payload)));
    if (head.what != LW_OK) return refusal(head.what, question.doing, payload);
    if (which) *which = head.which;
    return Message(std::move(payload));
}

} // namespace longwave::cli
