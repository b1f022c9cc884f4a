// longwave/longwave.hpp as a user compiles it: C++17, strict warnings, with and without exceptions.
// cpp_header_test builds it and runs it in the folder of audio.lw, spotter.lw, speech.lw, filter.lw
// and text.lw (tests/support/make_tiny_artifacts.cc).
#include "longwave/longwave.hpp"
#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, lw_last_error());                 \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (false)

namespace {

lw_open_options trusting() {
    lw_open_options options = longwave::make<lw_open_options>();
    options.allow_unsigned_code = 1;
    return options;
}

std::vector<float> ramp(size_t n) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 17) / 17;
    return x;
}

longwave::Model opened(const char *path) {
    longwave::Model model;
    const lw_open_options options = trusting();
    CHECK(longwave::Model::try_open(path, &options, model) == LW_OK);
    return model;
}

std::vector<float> rows_of(longwave::Stream &stream, const std::vector<float> &x) {
    std::vector<float> rows;
    longwave::Row row;
    for (size_t done = 0; done < x.size();) {
        size_t taken = 0;
        CHECK(stream.try_push(x.data() + done, x.size() - done, &taken) == LW_OK);
        done += taken;
        lw_status status;
        while ((status = stream.try_pull(row)) == LW_OK)
            rows.insert(rows.end(), row.data, row.data + row.width);
        CHECK(status == LW_AGAIN);
    }
    return rows;
}

void statuses() {
    longwave::Model missing;
    CHECK(longwave::Model::try_open("no such file", nullptr, missing) == LW_NOT_FOUND);
    CHECK(!missing);
    CHECK(longwave::Model::try_open("audio.lw", nullptr, missing) == LW_UNSIGNED_CODE);
    longwave::Stream empty;
    longwave::Row row;
    CHECK(longwave::Stream::try_create(missing, nullptr, empty) == LW_INVALID_ARGUMENT);
    CHECK(empty.try_pull(row) == LW_INVALID_ARGUMENT);
    const longwave::Model model = opened("audio.lw");
    longwave::Stream stream;
    CHECK(longwave::Stream::try_create(model, nullptr, stream) == LW_OK);
    const int16_t wrong[4] = {};
    CHECK(stream.try_push(wrong, 4) == LW_INVALID_ARGUMENT);
    CHECK(model.try_verify() == LW_OK);
}

// A stream keeps its model open, and the destination of a move closes what it held.
void lifetimes() {
    const std::vector<float> x = ramp(64);
    longwave::Stream stream, other;
    {
        const longwave::Model first = opened("audio.lw"), second = opened("audio.lw");
        CHECK(longwave::Stream::try_create(first, nullptr, stream) == LW_OK);
        CHECK(longwave::Stream::try_create(second, nullptr, other) == LW_OK);
    }
    const std::vector<float> rows = rows_of(stream, x);
    CHECK(!rows.empty());
    stream = std::move(other);
    CHECK(stream && !other);
    CHECK(rows_of(stream, x) == rows);
    longwave::Stream moved(std::move(stream));
    CHECK(moved && !stream);
    size_t n = 0;
    CHECK(moved.try_save(nullptr, 0, n) == LW_OK);
    std::vector<uint8_t> bytes(n);
    CHECK(moved.try_save(bytes.data(), bytes.size(), n) == LW_OK);
    CHECK(moved.try_reset() == LW_OK);
    CHECK(rows_of(moved, x) == rows);
    CHECK(moved.try_load(bytes.data(), bytes.size()) == LW_OK);
    lw_stream_stats stats;
    CHECK(moved.try_stats(stats) == LW_OK && stats.ticks == x.size());
    CHECK(moved.try_finish() == LW_OK);
}

void resampling() {
    lw_resampler_options options = LW_RESAMPLER_OPTIONS_INIT;
    longwave::Resampler resampler;
    CHECK(longwave::Resampler::try_create(options, resampler) == LW_INVALID_ARGUMENT && !resampler);
    options.format = LW_S16;
    options.channels = 2;
    options.rate_in = options.rate_out = 16000;
    CHECK(longwave::Resampler::try_create(options, resampler) == LW_OK);
    const int16_t stereo[4] = {0, 16384, 16384, 16384};
    float mono[8];
    size_t n = 0;
    CHECK(resampler.try_push(mono, 1, mono, 8, n) == LW_INVALID_ARGUMENT);
    CHECK(resampler.try_push(stereo, 2, mono, 8, n) == LW_OK && n == 2);
    CHECK(mono[0] == 0.25f && mono[1] == 0.5f);
    CHECK(resampler.try_finish(mono, 8, n) == LW_OK && n == 0);
    CHECK(resampler.try_reset() == LW_OK);
}

// The model's samples are the probabilities: 10 per row, of which number 1 is the first word.
void spotting() {
    longwave::Spotter spotter, other;
    lw_spotter_options options = longwave::make<lw_spotter_options>();
    options.format = LW_F32;
    {
        const longwave::Model model = opened("spotter.lw");
        CHECK(longwave::Spotter::try_create(model, nullptr, spotter) == LW_INVALID_ARGUMENT);
        CHECK(longwave::Spotter::try_create(model, &options, spotter) == LW_OK);
        CHECK(longwave::Spotter::try_create(model, &options, other) == LW_OK);
    }
    std::vector<float> x;
    for (int row = 0; row < 60; ++row)
        for (int i = 0; i < 10; ++i) x.push_back(i == (row < 30 ? 1 : 0) ? 1.0f : 0.0f);
    CHECK(spotter.try_push(x.data(), x.size()) == LW_OK);
    uint8_t state[1 << 16];
    size_t n = 0;
    lw_spotter_event event;
    CHECK(spotter.try_save(state, sizeof state, n) == LW_OK);
    CHECK(other.try_load(state, n) == LW_OK);
    CHECK(other.try_pull(event) == LW_OK && event.label == 1);
    CHECK(other.try_copy(spotter) == LW_OK);
    CHECK(other.try_pull(event) == LW_OK && event.label == 1);
    CHECK(spotter.try_pull(event) == LW_OK);
    CHECK(event.label == 1);
    longwave::Spotter moved(std::move(spotter));
    CHECK(moved.try_pull(event) == LW_AGAIN);
    CHECK(moved.try_finish() == LW_OK);
    CHECK(moved.try_pull(event) == LW_END);
}

// The first sample of each 512 is the probability.
void detecting() {
    longwave::SpeechDetector detector, other;
    lw_speech_detector_options options = longwave::make<lw_speech_detector_options>();
    options.format = LW_F32;
    {
        const longwave::Model model = opened("speech.lw");
        CHECK(longwave::SpeechDetector::try_create(model, nullptr, detector) == LW_INVALID_ARGUMENT);
        CHECK(longwave::SpeechDetector::try_create(model, &options, detector) == LW_OK);
        CHECK(longwave::SpeechDetector::try_create(model, &options, other) == LW_OK);
    }
    std::vector<float> x(512 * 30);
    for (size_t row = 10; row < 30; ++row) x[row * 512] = 1;
    const int16_t wrong[1] = {};
    CHECK(detector.try_push(wrong, 1) == LW_INVALID_ARGUMENT);
    CHECK(detector.try_push(x.data(), x.size()) == LW_OK);
    uint8_t state[1 << 16];
    size_t n = 0;
    CHECK(detector.try_save(state, sizeof state, n) == LW_OK);
    CHECK(other.try_load(state, n) == LW_OK);
    lw_speech_event event;
    CHECK(other.try_pull(event) == LW_OK && event.kind == LW_SPEECH_BEGAN);
    CHECK(other.try_copy(detector) == LW_OK && other.try_reset() == LW_OK);
    longwave::SpeechDetector moved(std::move(detector));
    CHECK(moved && !detector);
    CHECK(moved.try_finish() == LW_OK);
    while (moved.try_pull(event) == LW_OK) {
    }
    CHECK(event.kind == LW_SPEECH_END || moved.try_pull(event) == LW_END);
}

// What comes out is what went in; live, later by the latency.
void filtering() {
    const std::vector<float> x = ramp(100);
    longwave::AudioStream stream, live;
    lw_audio_stream_options options = longwave::make<lw_audio_stream_options>();
    options.format = LW_F32;
    {
        const longwave::Model model = opened("filter.lw");
        CHECK(longwave::AudioStream::try_create(model, nullptr, stream) == LW_INVALID_ARGUMENT && !stream);
        CHECK(stream.latency() == 0);
        CHECK(longwave::AudioStream::try_create(model, &options, stream) == LW_OK);
        options.live = 1;
        CHECK(longwave::AudioStream::try_create(model, &options, live) == LW_OK);
    }
    int16_t wrong[1] = {};
    std::vector<float> y(200);
    size_t taken = 0, n = 0, last = 0;
    CHECK(stream.try_push(wrong, 1) == LW_INVALID_ARGUMENT);
    CHECK(stream.try_pull(wrong, 1, n) == LW_INVALID_ARGUMENT);
    CHECK(live.try_process(wrong, wrong, 1) == LW_INVALID_ARGUMENT);
    CHECK(stream.try_process(x.data(), y.data(), 1) == LW_WRONG_STATE);
    CHECK(stream.try_push(x.data(), x.size(), &taken) == LW_OK && taken == x.size());
    CHECK(stream.try_pull(y.data(), y.size(), n) == LW_OK);
    longwave::AudioStream moved(std::move(stream));
    CHECK(moved && !stream);
    CHECK(moved.try_finish() == LW_OK);
    CHECK(moved.try_pull(y.data() + n, y.size() - n, last) == LW_OK && n + last == x.size());
    CHECK(moved.try_pull(y.data(), y.size(), n) == LW_END);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == x[i]);
    lw_audio_stream_info info;
    CHECK(moved.try_info(info) == LW_OK && info.given == x.size() && info.latency == moved.latency());
    CHECK(moved.try_reset() == LW_OK);
    y = x;
    CHECK(live.try_process(y.data(), y.data(), y.size()) == LW_OK);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == (i < live.latency() ? 0 : x[i - live.latency()]));
}

// Two streams, one with a block and one with half of it.
void batches() {
    const longwave::Model model = opened("audio.lw");
    longwave::StreamBatch batch, empty;
    CHECK(longwave::StreamBatch::try_create(model, batch) == LW_OK);
    CHECK(batch && !empty && batch.streams() == 1 && empty.streams() == 0);
    longwave::Stream a, b, alone;
    CHECK(longwave::Stream::try_create(model, nullptr, a) == LW_OK);
    CHECK(longwave::Stream::try_create(model, nullptr, b) == LW_OK);
    CHECK(longwave::Stream::try_create(model, nullptr, alone) == LW_OK);
    const std::vector<float> x = ramp(16);
    lw_stream *const streams[] = {a.get(), b.get()};
    const void *const samples[] = {x.data(), x.data()};
    const size_t counts[] = {4, 2};
    size_t taken[2];
    CHECK(batch.try_push(streams, 2, samples, counts, taken) == LW_OK && taken[0] == 4 && taken[1] == 2);
    CHECK(empty.try_push(streams, 2, samples, counts, taken) == LW_INVALID_ARGUMENT);
    longwave::Row row, expected;
    CHECK(alone.try_push(x.data(), 4) == LW_OK && alone.try_pull(expected) == LW_OK);
    CHECK(a.try_pull(row) == LW_OK && row.data[0] == expected.data[0]);
    CHECK(b.try_pull(row) == LW_AGAIN);
    lw_speech_detector *const none[] = {nullptr};
    CHECK(batch.try_push(none, 1, samples, counts, taken) == LW_INVALID_ARGUMENT);
}

void generating() {
    longwave::Generator generator;
    CHECK(longwave::Generator::try_create(opened("text.lw"), nullptr, generator) == LW_OK);
    const int32_t prompt[3] = {1, 2, 3};
    CHECK(generator.try_prompt(prompt, 3) == LW_OK);
    longwave::Generator moved;
    moved = std::move(generator);
    CHECK(moved && !generator);
    size_t n = 0;
    CHECK(moved.try_save(nullptr, 0, n) == LW_OK);
    std::vector<uint8_t> bytes(n);
    CHECK(moved.try_save(bytes.data(), bytes.size(), n) == LW_OK);
    lw_generator_token token;
    std::vector<int32_t> ids, again;
    for (int i = 0; i < 5; ++i) {
        CHECK(moved.try_next(token) == LW_OK);
        ids.push_back(token.id);
    }
    CHECK(moved.try_load(bytes.data(), bytes.size()) == LW_OK);
    for (int i = 0; i < 5; ++i) {
        CHECK(moved.try_next(token) == LW_OK);
        again.push_back(token.id);
    }
    CHECK(ids == again);
}

#ifdef __cpp_exceptions
template <class Work> lw_status thrown(Work work) {
    try {
        work();
    } catch (const longwave::Error &error) {
        return *error.what() ? error.status() : LW_OK;
    }
    return LW_OK;
}

void exceptions() {
    CHECK(thrown([] { longwave::Model::open("no such file"); }) == LW_NOT_FOUND);
    const longwave::Model model = longwave::Model::open("audio.lw", trusting());
    CHECK(model.info().has_stream == 1);
    CHECK(model.verify() <= 1);
    longwave::Stream stream(model);
    const std::vector<float> x = ramp(64);
    const int32_t wrong[1] = {};
    CHECK(thrown([&] { stream.push(wrong, 1); }) == LW_INVALID_ARGUMENT);
    std::vector<float> rows;
    for (size_t done = 0; done < x.size();) {
        done += stream.push(x.data() + done, x.size() - done);
        while (const std::optional<longwave::Row> row = stream.pull())
            rows.insert(rows.end(), row->begin(), row->end_of_data());
    }
    longwave::Stream same(model);
    CHECK(rows_of(same, x) == rows);
    same.load(stream.save());
    CHECK(same.stats().ticks == x.size());
    stream.finish();
    CHECK(thrown([&] { stream.push(x.data(), 1); }) == LW_WRONG_STATE);
    lw_stream_options options = longwave::make<lw_stream_options>();
    options.format = LW_F32;
    options.block = 1000;
    CHECK(thrown([&] { longwave::Stream none(model, options); }) == LW_NOT_FOUND);
    longwave::SpeechDetector detector(longwave::Model::open("speech.lw", trusting()), LW_F32);
    const std::vector<float> loud(20000, 1);
    CHECK(detector.push(loud.data(), loud.size()) == loud.size());
    longwave::SpeechDetector continued(longwave::Model::open("speech.lw", trusting()), LW_F32);
    continued.load(detector.save());
    continued.finish();
    lw_speech_event end = longwave::make<lw_speech_event>();
    while (const std::optional<lw_speech_event> event = continued.pull()) end = *event;
    CHECK(end.kind == LW_SPEECH_END && end.start == 0 && end.end == 20000);
    longwave::AudioStream filter(longwave::Model::open("filter.lw", trusting()), LW_F32);
    std::vector<float> clean(x.size());
    CHECK(filter.push(x.data(), x.size()) == x.size());
    size_t heard = filter.pull(clean.data(), clean.size());
    CHECK(filter.pull(clean.data(), clean.size()) == 0);
    filter.finish();
    heard += filter.pull(clean.data() + heard, clean.size() - heard);
    CHECK(heard == x.size() && clean == x && filter.info().taken == x.size());
    CHECK(thrown([&] { filter.process(x.data(), clean.data(), 1); }) == LW_WRONG_STATE);
    filter.reset();
    const longwave::Model audio_of_batch = longwave::Model::open("audio.lw", trusting());
    longwave::Stream one(audio_of_batch), other(audio_of_batch);
    longwave::StreamBatch together(audio_of_batch);
    const std::vector<float> input = ramp(8);
    CHECK(
        (together.push<float>({&one, &other}, {input.data(), input.data()}, 8) == std::vector<size_t>{8, 8}));
    CHECK(one.pull()->data[0] == other.pull()->data[0]);
    longwave::Generator generator(longwave::Model::open("text.lw", trusting()));
    generator.prompt({1, 2, 3});
    const std::vector<uint8_t> bytes = generator.save();
    const std::optional<lw_generator_token> first = generator.next();
    generator.load(bytes);
    CHECK(first && generator.next()->id == first->id);
    CHECK(generator.stream().stats().ticks == 4);
}
#endif

} // namespace

int main() {
    statuses();
    lifetimes();
    resampling();
    spotting();
    detecting();
    filtering();
    generating();
    batches();
#ifdef __cpp_exceptions
    exceptions();
#endif
    return 0;
}
