#include "tools/cli/microphone/microphone.h"
#include "formats/audio/source.h"
#include "tools/cli/microphone/alsa_device.h"
#include "tools/cli/microphone/sample_ring.h"
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>

namespace longwave::cli {
namespace {

constexpr size_t ring_seconds = 30;

// Owned by both threads: a device that hangs keeps its own part when the command ends.
struct Recording {
    Recording(AlsaDevice opened) : device(std::move(opened)), ring(ring_seconds * device.sample_rate()) {}
    AlsaDevice device;
    SampleRing ring;
};

Status record(Recording &recording) {
    float samples[1024];
    while (!recording.ring.closed()) {
        LW_ASSIGN(const Captured captured, recording.device.read(samples, std::size(samples)));
        if (!captured.notice.empty()) recording.ring.note(captured.notice);
        if (captured.ended || !recording.ring.put(samples, captured.frames)) break;
    }
    return {};
}

class MicrophoneSource final : public audio::Source {
public:
    MicrophoneSource(AlsaDevice device, const MicrophoneOptions &options)
        : recording_(std::make_shared<Recording>(std::move(device))), options_(options) {
        sample_rate = recording_->device.sample_rate();
    }
    ~MicrophoneSource() override {
        recording_->ring.close();
        if (!thread_.joinable()) return;
        if (recording_->ring.wait_for_end()) thread_.join();
        else thread_.detach();
    }

    Status start() {
        try {
            thread_ = std::thread([recording = recording_] { recording->ring.end(record(*recording)); });
        } catch (const std::system_error &error) {
            return Status::device(std::string("the system gives no thread for the microphone: ") +
                                  error.what());
        }
        return {};
    }
    Expected<size_t> read(float *samples, size_t n) override {
        return recording_->ring.take(samples, n, options_.audio.stop, options_.notice);
    }

private:
    std::shared_ptr<Recording> recording_;
    MicrophoneOptions options_;
    std::thread thread_;
};

// A text of libasound, which the caller frees.
std::string text_of(const void *hint, const char *id) {
    const std::unique_ptr<char, decltype(&std::free)> text(snd_device_name_get_hint(hint, id), &std::free);
    return text ? text.get() : "";
}

} // namespace

Expected<audio::Reader> open_microphone(const MicrophoneOptions &options) {
    LW_ASSIGN(AlsaDevice device, AlsaDevice::open(options));
    auto source = std::make_unique<MicrophoneSource>(std::move(device), options);
    MicrophoneSource &started = *source;
    LW_ASSIGN(audio::Reader reader,
              audio::Reader::from(std::move(source), "microphone " + options.name, options.audio));
    LW_TRY(started.start()); // not before its rate was accepted
    return reader;
}

Expected<std::vector<MicrophoneDescription>> list_microphones() {
    void **hints = nullptr;
    if (const int error = snd_device_name_hint(-1, "pcm", &hints); error < 0)
        return Status::device(std::string("ALSA cannot list its devices: ") + snd_strerror(error));
    std::vector<MicrophoneDescription> list;
    for (void **hint = hints; *hint; hint++) {
        const std::string direction = text_of(*hint, "IOID"); // empty: both
        if (direction == "Output") continue;
        MicrophoneDescription device{text_of(*hint, "NAME"), text_of(*hint, "DESC")};
        for (char &c : device.description)
            if (c == '\n') c = ' ';
        list.push_back(std::move(device));
    }
    snd_device_name_free_hint(hints);
    return list;
}

} // namespace longwave::cli
