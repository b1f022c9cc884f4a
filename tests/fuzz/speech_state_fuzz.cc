// Saved states of speech detectors. The first byte says whether the state is given its checksum
// (bit 0), which settings the detector has (bits 1 and 2) and whether the stream's part is that of
// a detector that has heard a little (bit 3). The second says how much is pushed afterwards. The
// rest is the state. What must hold: any bytes are loaded or give LW_BAD_STATE; a refused state
// changes nothing; an accepted one is saved again as it came; the detector goes on from it and, once
// finished, ends.
#include "formats/artifact/hash.h"
#include "longwave/speech_detector.h"
#include "runtime/vad/detector.h"
#include "tests/fuzz/must.h"
#include "tests/support/speech_options.h"
#include "tests/support/tiny_model.h"
#include <algorithm>
#include <cstring>

using namespace longwave;
using fuzz::must;

namespace {

constexpr uint32_t hop = 16;
// As detector_state.cc lays them out.
constexpr size_t head = 16, own = head + sizeof(runtime::SegmentState) + sizeof(runtime::DetectorState) +
                                  sizeof(runtime::Heard);

struct Subject {
    lw_model *model = nullptr;
    lw_speech_detector *detector = nullptr;
    std::vector<uint8_t> fresh, later; // the state at reset; after some audio

    explicit Subject(const lw_speech_detector_options &options) {
        const std::vector<uint8_t> bytes = test::speech_model(16000, hop).bytes();
        lw_open_options open = LW_OPEN_OPTIONS_INIT;
        open.allow_unsigned_code = 1;
        must(lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) == LW_OK,
             "the test model opens");
        must(lw_speech_detector_create(model, &options, &detector) == LW_OK, "and detects");
        fresh = saved();
        const std::vector<float> loud(500, 1);
        must(lw_speech_detector_push(detector, loud.data(), loud.size(), nullptr) == LW_OK, "it hears");
        later = saved();
    }
    std::vector<uint8_t> saved() const {
        size_t n = 0;
        must(lw_speech_detector_save(detector, nullptr, 0, &n) == LW_OK, "the size of a state");
        std::vector<uint8_t> bytes(n);
        must(lw_speech_detector_save(detector, bytes.data(), n, &n) == LW_OK, "a state is saved");
        return bytes;
    }
    void pull(lw_status expected) const {
        lw_speech_event event = LW_SPEECH_EVENT_INIT;
        lw_status status;
        int64_t sum = 0;
        int most = 100000;
        while (most-- > 0 && (status = lw_speech_detector_pull(detector, &event)) == LW_OK) {
            must(event.kind >= LW_SPEECH_BEGAN && event.kind <= LW_SPEECH_ROW, "an event has a kind");
            sum ^= event.start ^ event.end ^ event.tick;
        }
        [[maybe_unused]] static volatile int64_t sink;
        sink = sum;
        must(most > 0 && status == expected, "pulling comes to its end");
    }
};

const Subject &subject(unsigned which) {
    const auto options = [](bool cuts, bool rows) {
        lw_speech_detector_options made = test::f32_speech;
        if (cuts)
            made.max_speech_s = 0.1, made.min_silence_at_max_ms = 3, made.min_silence_ms = 20,
            made.speech_pad_ms = 15;
        made.cut_at_last_silence = made.rows = rows;
        return made;
    };
    static const Subject subjects[] = {Subject(options(false, false)), Subject(options(false, true)),
                                       Subject(options(true, false)), Subject(options(true, true))};
    return subjects[which];
}

// What a state of this detector must have whatever its fields hold.
void seal(const Subject &subject, bool later, std::vector<uint8_t> &state) {
    const std::vector<uint8_t> &from = later ? subject.later : subject.fresh;
    state.resize(from.size());
    std::memcpy(state.data(), from.data(), head);
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(state.data(), own, digest);
    std::memcpy(state.data() + own, digest, sizeof(uint64_t));
    std::copy(from.begin() + own + sizeof(uint64_t), from.end(), state.begin() + own + sizeof(uint64_t));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const Subject &of = subject(data[0] >> 1 & 3);
    std::vector<uint8_t> state(data + 2, data + size);
    if (data[0] & 1) seal(of, data[0] & 8, state);
    must(lw_speech_detector_reset(of.detector) == LW_OK, "reset");
    const lw_status status =
        lw_speech_detector_load(of.detector, state.empty() ? data : state.data(), state.size());
    must(status == LW_OK || status == LW_BAD_STATE, "a state is loaded or refused as one");
    if (status != LW_OK) {
        must(of.saved() == of.fresh, "a refused state changes nothing");
        return 0;
    }
    if (data[0] & 1) must(of.saved() == state, "an accepted state is saved as it came");
    std::vector<float> samples(size_t{data[1]} * 40);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(data[i % size]) / 255;
    for (size_t done = 0; done < samples.size();) {
        size_t taken = 0;
        const lw_status pushed =
            lw_speech_detector_push(of.detector, samples.data() + done, samples.size() - done, &taken);
        if (pushed == LW_WRONG_STATE) break; // the state was that of a finished detector
        must(pushed == LW_OK && taken <= samples.size() - done, "push takes what it is given");
        done += taken;
        if (done < samples.size()) of.pull(LW_AGAIN);
    }
    lw_speech_detector_finish(of.detector); // LW_WRONG_STATE when it is finished already
    of.pull(LW_END);
    return 0;
}
