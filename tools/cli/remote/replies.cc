#include "tools/cli/remote/replies.h"
#include "tools/cli/output/text.h"
#include "tools/runner/wire.h"
#include <algorithm>
#include <cmath>

namespace longwave::cli {
namespace {

constexpr uint64_t row_head = 16; // bytes before the values of a row

Status wrong(const std::string &what) {
    return Status::device("longwave-runner: " + what + "; build it and this program from one version");
}
std::string number(uint64_t n) { return std::to_string(n); }

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
        return wrong("it gives a row of output " + number(head.index) + ", but the model has " +
                     number(outputs.size()));
    if (head.width != outputs[head.index].width)
        return wrong("it gives a row of " + number(head.width) + " values, but output " + number(head.index) +
                     " has " + number(outputs[head.index].width));
    constexpr uint64_t most = uint64_t{1} << 48; // no stream gets there
    std::optional<uint64_t> &expected = next[head.index];
    if (head.row > most || (expected && head.row != *expected))
        return wrong("it gives row " + number(head.row) + " of output " + number(head.index) +
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
            return wrong("it gives " + number(rows) + " rows of output " + number(results.size()) +
                         ", expected " + number(expected));
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
                                   : wrong("it has version " + number(version) +
                                           " of the messages, expected " + number(wire_version));
}

} // namespace longwave::cli
