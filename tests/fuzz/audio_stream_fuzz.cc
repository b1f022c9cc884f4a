// Audio streams. The first six bytes pick the model, the format, the rates, live, the queue and the
// seed of the samples; each further pair is a call: push, pull, process, finish or reset, and its
// number of samples. What must hold: statuses are those of audio_stream.h; a stream gives the same
// samples however it is pushed and pulled; live and at equal rates n samples bring n; after finish
// there are as many as the time that was pushed takes.
#include "longwave/audio_stream.h"
#include "tests/fuzz/must.h"
#include "tests/support/filter_options.h"
#include "tests/support/tiny_filters.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

using namespace longwave;
using fuzz::must;

namespace {

constexpr size_t most_samples = 20000; // of one input

const lw_model *model(uint8_t which) {
    static const std::vector<lw_model *> &models = *new std::vector<lw_model *>([] {
        const test::Draft drafts[] = {test::late_model(),
                                      test::late_model({16000, 8, 4, 6, 4}),
                                      test::late_model({16000, 32, 16, 17, 16}),
                                      test::late_model({8000, 441, 441, 100}),
                                      test::doubled_model(),
                                      test::halved_model(),
                                      test::summed_model(),
                                      test::failing_filter_model()};
        std::vector<lw_model *> opened;
        for (const test::Draft &draft : drafts) {
            const std::vector<uint8_t> bytes = draft.bytes();
            lw_open_options open = LW_OPEN_OPTIONS_INIT;
            open.allow_unsigned_code = 1;
            opened.push_back(nullptr);
            must(lw_model_open_memory(bytes.data(), bytes.size(), &open, &opened.back()) == LW_OK,
                 "the test model opens");
        }
        return opened;
    }());
    return models[which % models.size()];
}

using Stream = std::unique_ptr<lw_audio_stream, void (*)(lw_audio_stream *)>;

Stream made(const lw_model *from, const lw_audio_stream_options &options) {
    lw_audio_stream *stream = nullptr;
    must(lw_audio_stream_create(from, &options, &stream) == LW_OK, "the test model filters");
    return {stream, lw_audio_stream_destroy};
}

// One stream, what it was given since it was new, and what it gave.
class Subject {
public:
    Subject(const lw_model *from, const lw_audio_stream_options &options, uint32_t seed)
        : model_(from), options_(options), stream_(made(from, options)), random_(seed),
          bytes_(options.format == LW_S16 ? 2 : 4) {
        info_.struct_size = sizeof info_;
        must(lw_audio_stream_get_info(stream_.get(), &info_) == LW_OK, "it describes itself");
    }

    void push(size_t n) {
        const std::vector<uint8_t> samples = more(n);
        size_t taken = n + 1;
        if (!fine(lw_audio_stream_push(stream_.get(), samples.data(), n, &taken))) return;
        must(taken <= n, "push takes no more than it is given");
        in_.insert(in_.end(), samples.begin(), samples.begin() + static_cast<long>(taken * bytes_));
    }
    void pull(size_t n) {
        std::vector<uint8_t> samples(n * bytes_ + 1, 0xa5);
        size_t given = n + 1;
        const lw_status status = lw_audio_stream_pull(stream_.get(), samples.data(), n, &given);
        must(samples.back() == 0xa5 && given <= n, "pull writes no more than there is room for");
        if (status == LW_END)
            must(finished_ && n_out() == scaled(n_in(), true), "the end comes when all are out");
        if (status == LW_AGAIN || status == LW_END) return;
        if (!fine(status)) return;
        must(given > 0, "pull gives a sample, or says that there is none");
        out_.insert(out_.end(), samples.begin(), samples.begin() + static_cast<long>(given * bytes_));
    }
    void process(size_t n) {
        const std::vector<uint8_t> samples = more(n);
        std::vector<uint8_t> place = samples; // in place
        place.push_back(0xa5);
        const bool possible =
            options_.live && info_.rate_in == info_.rate_out && n_in() == n_out() && !finished_ && !failed_;
        const lw_status status = lw_audio_stream_process(stream_.get(), place.data(), place.data(), n);
        must(place.back() == 0xa5, "process writes no more than there is room for");
        must(possible ? status == LW_OK || status == LW_DEVICE : status == LW_WRONG_STATE,
             "process knows when it can");
        if (!fine(status)) return;
        in_.insert(in_.end(), samples.begin(), samples.end());
        out_.insert(out_.end(), place.begin(), place.end() - 1);
    }
    void finish() {
        if (fine(lw_audio_stream_finish(stream_.get()))) finished_ = true;
    }
    void reset() {
        compare();
        must(lw_audio_stream_reset(stream_.get()) == LW_OK, "reset");
        in_.clear();
        out_.clear();
        finished_ = failed_ = false;
    }

    // Against a stream that is given all at once.
    void compare() const {
        if (failed_) return;
        lw_audio_stream_info info = LW_AUDIO_STREAM_INFO_INIT;
        must(lw_audio_stream_get_info(stream_.get(), &info) == LW_OK && info.taken == n_in() &&
                 info.given == n_out(),
             "the counts are those of the calls");
        if (options_.live) must(n_out() <= scaled(n_in(), finished_), "a live stream gives for what it took");
        lw_audio_stream_options options = options_;
        options.queue = 100000;
        const Stream once = made(model_, options);
        size_t taken = 0, n = 0;
        must(lw_audio_stream_push(once.get(), in_.data(), n_in(), &taken) == LW_OK && taken == n_in(),
             "it takes all at once");
        if (finished_ || !options_.live) must(lw_audio_stream_finish(once.get()) == LW_OK, "and ends");
        std::vector<uint8_t> expected(out_.size());
        for (size_t at = 0; at < n_out(); at += n)
            must(lw_audio_stream_pull(once.get(), expected.data() + at * bytes_, n_out() - at, &n) == LW_OK,
                 "it has as many outputs");
        must(expected == out_, "samples do not depend on the calls");
    }
    size_t n_in() const { return in_.size() / bytes_; }

private:
    size_t n_out() const { return out_.size() / bytes_; }
    size_t scaled(size_t n, bool up) const {
        return (n * info_.rate_out + (up ? info_.rate_in - 1 : 0)) / info_.rate_in;
    }

    bool fine(lw_status status) {
        if (status == LW_OK) return true;
        must(status == LW_DEVICE ? !failed_ : status == LW_WRONG_STATE && lw_last_error()[0],
             "a refusal is one of the header's");
        if (status == LW_DEVICE) failed_ = true;
        return false;
    }
    // Noise, and now and then what no sample should be.
    std::vector<uint8_t> more(size_t n) {
        std::vector<uint8_t> samples(n * bytes_);
        for (size_t i = 0; i < n; ++i) {
            const uint32_t bits = static_cast<uint32_t>(random_());
            float value = static_cast<float>(static_cast<int16_t>(bits)) / 32768;
            if (bits >> 22 == 0) memcpy(&value, &bits, sizeof value);
            if (bits >> 22 == 1) value = 3e38f;
            if (bits >> 22 == 2) value = std::numeric_limits<float>::quiet_NaN();
            const int16_t integer = static_cast<int16_t>(bits);
            if (bytes_ == 4) memcpy(samples.data() + 4 * i, &value, 4);
            else memcpy(samples.data() + 2 * i, &integer, 2);
        }
        return samples;
    }

    const lw_model *model_;
    lw_audio_stream_options options_;
    Stream stream_;
    lw_audio_stream_info info_{};
    std::mt19937 random_;
    size_t bytes_;
    std::vector<uint8_t> in_, out_;
    bool finished_ = false, failed_ = false;
};

uint32_t rate(uint8_t byte) {
    static constexpr uint32_t rates[] = {0, 0, 0, 8000, 16000, 22050, 44100, 48000};
    return rates[byte % 8];
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 6) return 0;
    lw_audio_stream_options options = test::f32_filter;
    options.format = data[1] & 1 ? LW_S16 : LW_F32;
    options.live = data[1] >> 1 & 1;
    options.rate_in = rate(data[2]);
    options.rate_out = rate(data[3]);
    options.queue = data[4] * 8u;
    Subject subject(model(data[0]), options, data[5]);
    size_t calls = 0;
    for (size_t at = 6; at + 1 < size && calls < 100 && subject.n_in() < most_samples; at += 2, ++calls) {
        const size_t n = size_t{data[at + 1]} << (data[at] >> 4) % 4; // at most 2,040
        switch (data[at] % 8) {
        case 0:
        case 1:
        case 2: subject.push(n); break;
        case 3:
        case 4: subject.pull(n); break;
        case 5: subject.process(n); break;
        case 6: subject.finish(); break;
        case 7: subject.reset(); break;
        }
    }
    subject.compare();
    return 0;
}
