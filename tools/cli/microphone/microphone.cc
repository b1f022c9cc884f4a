#include "tools/cli/microphone/microphone.h"
#include "formats/audio/source.h"
#include "formats/base/expected.h"
#include "tools/cli/microphone/alsa_device.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace longwave::cli {
namespace {

// Samples on their way from the thread that records to the one that computes.

class SampleRing {
public:
    explicit SampleRing(size_t capacity) : samples_(capacity) {}

    // For the thread that records. Waits while the ring is full: the device then reports the loss.
    // False: nobody reads any more.
    bool put(const float *samples, size_t n);
    void note(std::string text); // a line for the reader
    void end(Status status);     // no more samples: the end, or the reason
    bool closed() const { return closed_; }

    // For the reader. Waits for at least one sample; 0: the end, or `stop` became true.
    Expected<size_t> take(float *samples, size_t n, const std::atomic<bool> *stop,
                          const std::function<void(const std::string &)> &notice);
    void close();
    // Has the other thread ended? Waits for it, but not for ever: a device may hang.
    bool wait_for_end();

private:
    std::vector<float> samples_;
    size_t first_ = 0, count_ = 0;
    std::vector<std::string> notes_;
    bool ended_ = false;
    Status status_;
    std::atomic<bool> closed_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
};

// A signal sets a flag and wakes nobody, so waits look at it this often.
constexpr std::chrono::milliseconds look_interval(50);

bool SampleRing::put(const float *samples, size_t n) {
    std::unique_lock lock(mutex_);
    while (n > 0 && !closed_) {
        if (count_ == samples_.size()) {
            changed_.wait_for(lock, look_interval);
            continue;
        }
        const size_t at = (first_ + count_) % samples_.size();
        const size_t part = std::min({n, samples_.size() - count_, samples_.size() - at});
        std::copy_n(samples, part, samples_.begin() + static_cast<ptrdiff_t>(at));
        count_ += part, samples += part, n -= part;
        changed_.notify_all();
    }
    return !closed_;
}

void SampleRing::note(std::string text) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(text));
    changed_.notify_all();
}

void SampleRing::end(Status status) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    status_ = std::move(status);
    changed_.notify_all();
}

Expected<size_t> SampleRing::take(float *samples, size_t n, const std::atomic<bool> *stop,
                                  const std::function<void(const std::string &)> &notice) {
    std::unique_lock lock(mutex_);
    for (;;) {
        for (const std::string &text : notes_)
            if (notice) notice(text);
        notes_.clear();
        if (count_ > 0) {
            const size_t part = std::min({n, count_, samples_.size() - first_});
            std::copy_n(samples_.begin() + static_cast<ptrdiff_t>(first_), part, samples);
            first_ = (first_ + part) % samples_.size();
            count_ -= part;
            changed_.notify_all();
            return part;
        }
        if (!status_) return status_;
        if (ended_ || (stop && *stop)) return size_t{0};
        changed_.wait_for(lock, look_interval);
    }
}

void SampleRing::close() {
    closed_ = true;
    changed_.notify_all();
}

bool SampleRing::wait_for_end() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; });
}

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
