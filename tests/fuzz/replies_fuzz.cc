// What the command line reads from a longwave-runner (tools/cli/remote). A runner in this process
// gives true replies, and the bytes say how each of them is changed. What must hold: the caller gets
// rows, states and verdicts that fit the model, or one short line of Fault::device or Fault::check;
// nobody waits for bytes that do not come, and no reply takes more memory than its request allows.
#include "tests/fuzz/must.h"
#include "tests/fuzz/served_models.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/remote/remote_model.h"
#include <algorithm>
#include <cstdio>

using namespace longwave;
using fuzz::must;

namespace {

uint64_t messages = 0;
struct Count {
    ~Count() { std::fprintf(stderr, "replies read: %llu\n", static_cast<unsigned long long>(messages)); }
} count;

// The bytes of the fuzzer, one after another; zeros after their end.
class Bytes {
public:
    Bytes(const uint8_t *data, size_t size) : at_(data), left_(size) {}
    bool end() const { return left_ == 0; }
    uint8_t next() {
        if (left_ == 0) return 0;
        left_--;
        return *at_++;
    }
    uint64_t wide() {
        uint64_t value = 0;
        for (int i = 0; i < 8; i++) value = value << 8 | next();
        return value;
    }

private:
    const uint8_t *at_;
    size_t left_;
};

struct Head {
    uint32_t what, which;
    uint64_t bytes;
};

// A runner that lies as the bytes say.
class Liar : public cli::Channel {
public:
    explicit Liar(Bytes &bytes) : bytes_(bytes) {}
    ~Liar() override {
        close_all(&server_);
        std::free(reply_.data);
    }

    Status send(std::span<const uint8_t> head_bytes, std::span<const uint8_t> payload) override {
        Head head;
        must(head_bytes.size() == sizeof head, "a request has a head");
        std::memcpy(&head, head_bytes.data(), sizeof head);
        must(head.bytes == payload.size(), "a request is as long as its head says");
        reply_.size = 0;
        Reader reader = {payload.data() ? payload.data() : head_bytes.data(), payload.size(), 0};
        head.what = static_cast<uint32_t>(answer(&server_, head.what, &head.which, &reader, &reply_));
        std::vector<uint8_t> told(reply_.data, reply_.data + reply_.size);
        head.bytes = told.size();
        lie(head, told);
        wire_.assign(reinterpret_cast<const uint8_t *>(&head),
                     reinterpret_cast<const uint8_t *>(&head) + sizeof head);
        wire_.insert(wire_.end(), told.begin(), told.end());
        at_ = 0;
        messages++;
        return {};
    }
    Status receive(std::span<uint8_t> to) override {
        must(to.size() <= uint64_t{1} << 24, "memory follows what arrives");
        if (to.size() > wire_.size() - at_) return broken("ended");
        std::copy_n(wire_.begin() + static_cast<std::ptrdiff_t>(at_), to.size(), to.begin());
        at_ += to.size();
        return {};
    }
    Status broken(const std::string &how) override { return Status::device("the runner " + how); }

private:
    void lie(Head &head, std::vector<uint8_t> &told) {
        switch (bytes_.next() % 16) {
        case 1: head.what = static_cast<uint32_t>(bytes_.wide()); break;
        case 2: head.which = bytes_.next(); break;
        case 3: head.bytes = bytes_.wide(); break;
        case 4: // a wrong byte
            if (!told.empty()) told[bytes_.wide() % told.size()] ^= bytes_.next();
            break;
        case 5: // cut, and the head says so
            told.resize(told.size() * bytes_.next() / 256);
            head.bytes = told.size();
            break;
        case 6: // more
            for (uint8_t n = bytes_.next(); n > 0; n--) told.push_back(bytes_.next());
            head.bytes = told.size();
            break;
        case 7: // other bytes
            for (uint8_t &byte : told) byte = bytes_.next();
            break;
        case 8: told.resize(told.size() * bytes_.next() / 256); break; // it ends within
        case 9: { // a wrong word where a row has its index, width and number
            const uint32_t word = static_cast<uint32_t>(bytes_.wide());
            const size_t at = 4 * (bytes_.next() % 4);
            if (told.size() >= at + 4) std::memcpy(told.data() + at, &word, sizeof word);
            break;
        }
        case 10: // an endless refusal
            head.what = bytes_.next();
            told.assign(size_t{bytes_.next()} * 64, bytes_.next());
            head.bytes = told.size();
            break;
        default: break;
        }
    }

    Bytes &bytes_;
    Server server_ = {};
    Buffer reply_ = {};
    std::vector<uint8_t> wire_;
    size_t at_ = 0;
};

// A good answer, or one short line of text.
bool fine(const Status &status) {
    if (status) return true;
    must(status.fault() == Fault::device || status.fault() == Fault::check, "the runner is at fault");
    const std::string &text = status.message();
    must(!text.empty() && text.size() < 2000, "a refusal is a short text");
    must(cli::printable(text) == text, "of one printable line");
    return false;
}

// One conversation; false: the runner is not believed any more.
class Host {
public:
    Host(Bytes &bytes, size_t which) : bytes_(bytes) {
        const auto &artifact = fuzz::served_artifacts()[which % fuzz::served_artifacts().size()];
        const Status opened = cli::open_remotely(
            artifact, "", std::make_shared<cli::Remote>(std::make_unique<Liar>(bytes)), nullptr, model_);
        good_ = fine(opened);
        if (!good_) return;
        rows_.resize(model_.stream_outputs.size());
        tick_bytes_ = 4 * (model_.inputs[0].kind == LW_INPUT_TOKENS ? 1 : size_t{model_.inputs[0].width});
        samples_.resize(300 * tick_bytes_);
    }

    void talk() {
        for (int turn = 0; turn < 40 && good_ && !bytes_.end(); turn++) move(bytes_.next());
    }

private:
    cli::OnRow keep() {
        return [this](const cli::StreamRow &row) {
            must(row.index < rows_.size() && row.width == model_.stream_outputs[row.index].width,
                 "a row fits its output");
            must(row.row < uint64_t{1} << 50, "the number of a row can be counted with");
            rows_[row.index].insert(rows_[row.index].end(), row.data, row.data + row.width);
        };
    }

    void move(uint8_t kind) {
        double worst = -1;
        const size_t ticks = 1 + bytes_.next() % 250;
        if (kind % 16 == 0) {
            good_ = fine(cli::verify_remotely(model_, &worst));
            must(!good_ || worst >= 0, "a verdict is a number");
        } else if (kind % 16 == 1 && model_.info.has_run) {
            run();
        } else if (streams_.size() < 2 || kind % 16 == 2) {
            lw_stream_options options = {};
            options.struct_size = sizeof options;
            options.format = model_.inputs[0].kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
            options.block = kind >> 4;
            const auto made = cli::RemoteStream::create(model_, options, tick_bytes_);
            good_ = fine(made.status()) || kind >> 4 != 0;
            if (made) streams_.push_back(*made);
        } else {
            on_stream(kind, ticks);
        }
    }

    void on_stream(uint8_t kind, size_t ticks) {
        cli::RemoteStream &stream = *streams_[(kind >> 4) % streams_.size()], &other = *streams_.back();
        switch (kind % 16) {
        case 3: good_ = fine(stream.finish(keep())); break;
        case 4: good_ = fine(stream.reset()); break;
        case 5: good_ = fine(stream.prefill(samples_.data(), ticks)); break;
        case 6: {
            const auto state = stream.save();
            good_ = fine(state.status());
            if (good_) state_ = *state;
            break;
        }
        case 7: good_ = fine(stream.load(state_)); break;
        case 8: good_ = fine(stream.copy_from(other)); break;
        default: good_ = fine(stream.push(samples_.data(), ticks, keep())); break;
        }
        if (bytes_.next() % 8 == 0) good_ = true; // a caller that goes on
    }

    static uint64_t rows(const lw_output_info &output, uint64_t ticks) {
        return output.clock_num == 0 ? 1 : ticks * output.clock_num / output.clock_den;
    }

    void run() {
        cli::Sequence in;
        in.rows = std::min<size_t>(1 + bytes_.next(), model_.info.run_capacity);
        for (const lw_input_info &input : model_.inputs) {
            const bool tokens = input.kind == LW_INPUT_TOKENS;
            in.floats.emplace_back(tokens ? 0 : in.rows * input.width);
            in.ids.emplace_back(tokens ? in.rows : 0);
        }
        const auto results = cli::run_remotely(model_, in);
        good_ = fine(results.status());
        if (!good_) return;
        must(results->size() == model_.run_outputs.size(), "a run gives every output");
        for (size_t i = 0; i < results->size(); i++)
            must((*results)[i].size() == rows(model_.run_outputs[i], in.rows) * model_.run_outputs[i].width,
                 "with all of its rows");
    }

    Bytes &bytes_;
    cli::Model model_;
    std::vector<std::shared_ptr<cli::RemoteStream>> streams_;
    std::vector<std::vector<float>> rows_;
    std::vector<uint8_t> samples_, state_;
    size_t tick_bytes_ = 4;
    bool good_ = true;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Bytes bytes(data, size);
    for (int i = 0; i < 8 && !bytes.end(); i++) Host(bytes, bytes.next()).talk();
    return 0;
}
