#include "tools/cli/remote/remote.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/runner/wire.h"
#include <algorithm>
#include <cmath>
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

namespace {

constexpr uint64_t row_head = 16; // bytes before the values of a row

Status wrong(const std::string &what) {
    return Status::device("longwave-runner: " + what + "; build it and this program from one version");
}
std::string in_digits(uint64_t n) { return std::to_string(n); }

uint64_t rows_of(const lw_output_info &output, uint64_t ticks) {
    const uint64_t whole = std::max(1u, output.whole);
    return output.clock_num == 0
               ? 1
               : (ticks - ticks % whole) * output.clock_num / std::max(1u, output.clock_den);
}

struct RowHead {
    uint32_t index, width;
    uint64_t row;
};

// `next`: by output, the number that its next row must have; none before its first row.
Status check_row(const RowHead &head, const ReplySizes &sizes, std::vector<std::optional<uint64_t>> &next) {
    const auto &outputs = sizes.stream_outputs;
    if (head.index >= outputs.size())
        return wrong("it gives a row of output " + in_digits(head.index) + ", but the model has " +
                     in_digits(outputs.size()));
    if (head.width != outputs[head.index].width)
        return wrong("it gives a row of " + in_digits(head.width) + " values, but output " +
                     in_digits(head.index) + " has " + in_digits(outputs[head.index].width));
    constexpr uint64_t most = uint64_t{1} << 48; // no stream gets there
    std::optional<uint64_t> &expected = next[head.index];
    if (head.row > most || (expected && head.row != *expected))
        return wrong("it gives row " + in_digits(head.row) + " of output " + in_digits(head.index) +
                     ", which is not the next one");
    expected = head.row + 1;
    return {};
}

// Visits the rows of a reply. A second visit finds no fault.
template <class Visit> Status each_row(Message in, const ReplySizes &sizes, Visit visit) {
    std::vector<std::optional<uint64_t>> next(sizes.stream_outputs.size());
    while (in.left() > 0) {
        const RowHead head{in.take<uint32_t>(), in.take<uint32_t>(), in.take<uint64_t>()};
        if (in.failed()) break;
        LW_TRY(check_row(head, sizes, next));
        const std::vector<float> values = in.floats(head.width);
        if (in.failed()) break;
        visit(StreamRow{head.index, head.width, head.row, values.data()});
    }
    return in.failed() ? wrong("it gives a part of a row") : Status();
}

} // namespace

uint64_t ReplySizes::rows(uint64_t ticks) const {
    uint64_t bytes = 0;
    for (const lw_output_info &output : stream_outputs)
        bytes += (rows_of(output, ticks + largest_lag) + 2) * (row_head + 4 * uint64_t{output.width});
    return bytes;
}

uint64_t ReplySizes::run(uint64_t ticks) const {
    uint64_t bytes = 0;
    for (const lw_output_info &output : run_outputs)
        bytes += 8 + rows_of(output, ticks) * 4 * uint64_t{output.width};
    return bytes;
}

Status read_rows(Message in, const ReplySizes &sizes, const OnRow &row) {
    LW_TRY(each_row(in, sizes, [](const StreamRow &) {}));
    return each_row(std::move(in), sizes, row);
}

Expected<std::vector<std::vector<float>>> read_run(Message in, const ReplySizes &sizes, uint64_t ticks) {
    std::vector<std::vector<float>> results;
    for (const lw_output_info &output : sizes.run_outputs) {
        const uint64_t rows = in.take<uint64_t>(), expected = rows_of(output, ticks);
        if (!in.failed() && rows != expected)
            return wrong("it gives " + in_digits(rows) + " rows of output " + in_digits(results.size()) +
                         ", expected " + in_digits(expected));
        results.push_back(in.floats(rows * output.width));
    }
    if (in.failed() || in.left() > 0) return wrong("its offline run has another size than that of the model");
    return results;
}

Expected<double> read_verdict(Message in) {
    const double worst = in.take<double>();
    if (in.failed() || in.left() > 0 || !std::isfinite(worst) || worst < 0)
        return wrong("it gives no error of the golden vectors");
    return worst;
}

Status read_nothing(const Message &in) {
    return in.left() == 0 ? Status() : wrong("it gives bytes where none are expected");
}

Status read_version(Message in) {
    const uint32_t version = in.take<uint32_t>();
    if (in.failed() || in.left() > 0) return wrong("it names no version of the messages");
    return version == wire_version ? Status()
                                   : wrong("it has version " + in_digits(version) +
                                           " of the messages, expected " + in_digits(wire_version));
}

} // namespace longwave::cli
