// longwave-speech-segments [CUT...]: reads cases from standard input and prints the segments that a
// speech detector finds, a case per line: start, end, start, end ... The audio is pushed in pieces
// of CUT samples, over and over; without CUT at once. A line of a case:
//   rate length threshold negative min_speech min_silence pad max_speech min_cut last n p...
// Times as in lw_speech_detector_options, and `length` in samples. With p, the probability of a row,
// begins a block of audio (tiny_model.h).
#include "longwave/speech_detector.h"
#include "tests/support/tiny_model.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

namespace {

using Model = std::unique_ptr<lw_model, void (*)(lw_model *)>;

[[noreturn]] void die(const std::string &what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), lw_last_error());
    std::exit(1);
}

uint32_t hop_of(uint32_t rate) { return rate == 16000 ? 512 : 256; }

const lw_model *model_of(uint32_t rate) {
    static std::map<uint32_t, Model> models;
    auto [at, made] = models.try_emplace(rate, nullptr, lw_model_close);
    if (made) {
        const std::vector<uint8_t> bytes = longwave::test::speech_model(rate, hop_of(rate)).bytes();
        lw_open_options options = LW_OPEN_OPTIONS_INIT;
        options.allow_unsigned_code = 1;
        lw_model *model = nullptr;
        if (lw_model_open_memory(bytes.data(), bytes.size(), &options, &model)) die("lw_model_open_memory");
        at->second.reset(model);
    }
    return at->second.get();
}

struct Case {
    uint32_t rate = 0;
    std::vector<float> audio;
    lw_speech_detector_options options = LW_SPEECH_DETECTOR_OPTIONS_INIT;
};

// The numbers are read with all their digits.
Case read_case(const std::string &line) {
    std::istringstream words(line);
    Case c;
    size_t length = 0, rows = 0;
    lw_speech_detector_options &o = c.options;
    o.format = LW_F32;
    words >> c.rate >> length >> o.threshold >> o.negative_threshold >> o.min_speech_ms >> o.min_silence_ms >>
        o.speech_pad_ms >> o.max_speech_s >> o.min_silence_at_max_ms >> o.cut_at_last_silence >> rows;
    c.audio.resize(length);
    std::string p;
    for (size_t r = 0; r < rows && words >> p; ++r)
        c.audio[r * hop_of(c.rate)] = std::strtof(p.c_str(), nullptr);
    if (!words) die("not a case: " + line.substr(0, 60));
    return c;
}

class Detector {
public:
    explicit Detector(const Case &c) {
        if (lw_speech_detector_create(model_of(c.rate), &c.options, &detector_))
            die("lw_speech_detector_create");
    }
    ~Detector() { lw_speech_detector_destroy(detector_); }
    Detector(const Detector &) = delete;

    void hear(const std::vector<float> &audio, const std::vector<size_t> &cuts) {
        for (size_t at = 0, i = 0, taken = 0; at < audio.size(); at += taken, ++i) {
            const size_t n = cuts.empty() ? audio.size() : std::max<size_t>(1, cuts[i % cuts.size()]);
            if (lw_speech_detector_push(detector_, audio.data() + at, std::min(n, audio.size() - at), &taken))
                die("push");
            print();
        }
        if (lw_speech_detector_finish(detector_)) die("finish");
        print();
        std::printf("\n");
    }

private:
    void print() {
        lw_speech_event event = LW_SPEECH_EVENT_INIT;
        lw_status status;
        while ((status = lw_speech_detector_pull(detector_, &event)) == LW_OK) {
            check(event);
            if (event.kind == LW_SPEECH_END)
                std::printf("%lld %lld ", static_cast<long long>(event.start),
                            static_cast<long long>(event.end));
        }
        if (status != LW_AGAIN && status != LW_END) die("pull");
    }
    // What the header promises of the order.
    void check(const lw_speech_event &event) {
        const auto must = [](bool good) {
            if (!good) die("the events are not in order");
        };
        if (event.kind == LW_SPEECH_BEGAN) must(began_ < 0), began_ = event.start;
        if (event.kind == LW_SPEECH_DROPPED) must(began_ == event.start), began_ = -1;
        if (event.kind == LW_SPEECH_START) {
            must(began_ == event.start && started_ < 0 && event.start >= ended_);
            started_ = began_;
            began_ = -1;
        }
        if (event.kind == LW_SPEECH_END) {
            must(started_ == event.start && event.end > event.start && event.end >= ended_);
            started_ = -1;
            ended_ = event.end;
        }
    }

    lw_speech_detector *detector_ = nullptr;
    int64_t began_ = -1, started_ = -1, ended_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    std::vector<size_t> cuts;
    for (int i = 1; i < argc; ++i) cuts.push_back(std::strtoul(argv[i], nullptr, 10));
    for (std::string line; std::getline(std::cin, line);) {
        const Case c = read_case(line);
        Detector(c).hear(c.audio, cuts);
    }
    return 0;
}
