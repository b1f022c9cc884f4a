#include "tools/cli/microphone/microphone.h"
#include "formats/audio/source.h"
#include "formats/base/expected.h"
#include <algorithm>
#include <alsa/asoundlib.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace longwave::cli {
namespace {

// One open ALSA capture device. Only this class calls libasound.

// What one read brought.
struct Captured {
    size_t frames = 0;  // may be 0: nothing came within a tenth of a second
    bool ended = false; // devices that play a file end; microphones do not
    std::string notice; // not empty: audio was lost, or the machine slept
};

class AlsaDevice {
public:
    static Expected<AlsaDevice> open(const MicrophoneOptions &options);

    // At most `n` frames of the chosen channel. A status means that no more audio will come.
    Expected<Captured> read(float *samples, size_t n);
    uint32_t sample_rate() const { return rate_; }

private:
    Status configure(const MicrophoneOptions &options);
    Status choose_format(snd_pcm_hw_params_t *params);
    Status choose_channels(snd_pcm_hw_params_t *params, const MicrophoneOptions &options);
    Status choose_rate(snd_pcm_hw_params_t *params, const audio::Options &options);
    Status start();
    Expected<Captured> recover(int error);
    Expected<Captured> resume();
    Status failed(const std::string &what, int error) const;
    void decode(size_t frames, float *samples) const;

    struct Close {
        void operator()(snd_pcm_t *pcm) const { snd_pcm_close(pcm); }
    };
    std::unique_ptr<snd_pcm_t, Close> pcm_;
    std::string name_;
    snd_pcm_format_t format_ = SND_PCM_FORMAT_UNKNOWN;
    uint32_t rate_ = 0, channels_ = 1, channel_ = 0; // channel_: 0 is the first
    uint64_t overruns_ = 0;
    unsigned failures_ = 0; // since the last audio
    std::vector<uint8_t> buffer_;
};

constexpr size_t most_frames = 1024; // per read
constexpr int wait_ms = 100;         // per read: the caller looks meanwhile whether it shall stop
constexpr unsigned most_failures = 100;
constexpr unsigned buffer_us = 500000, period_us = 20000;

// In the order of preference. All are little endian, as the hosts are that Longwave runs on.
constexpr struct {
    snd_pcm_format_t format;
    audio::Encoding encoding;
} formats[] = {{SND_PCM_FORMAT_S16_LE, audio::Encoding::s16},
               {SND_PCM_FORMAT_S32_LE, audio::Encoding::s32},
               {SND_PCM_FORMAT_FLOAT_LE, audio::Encoding::f32},
               {SND_PCM_FORMAT_S24_3LE, audio::Encoding::s24}};

audio::Encoding encoding_of(snd_pcm_format_t format) {
    for (const auto &known : formats)
        if (known.format == format) return known.encoding;
    return audio::Encoding::s16;
}

// libasound writes to stderr by default. Its result codes say enough for one line of our own.
void be_quiet(const char *, int, const char *, int, const char *, ...) {}

// The same device behind the plug-in of ALSA that converts formats.
std::string converting(const std::string &name) {
    return name.starts_with("hw:") ? "plug" + name : "plug:'" + name + "'";
}

Status AlsaDevice::failed(const std::string &what, int error) const {
    const std::string name = "microphone " + name_;
    if (error == -ENODEV || (pcm_ && snd_pcm_state(pcm_.get()) == SND_PCM_STATE_DISCONNECTED))
        return Status::device(name + ": was unplugged");
    return Status::device(name + ": " + what + ": " + snd_strerror(error));
}

Expected<AlsaDevice> AlsaDevice::open(const MicrophoneOptions &options) {
    snd_lib_error_set_handler(be_quiet);
    AlsaDevice device;
    device.name_ = options.name;
    snd_pcm_t *pcm = nullptr;
    const int error = snd_pcm_open(&pcm, options.name.c_str(), SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK);
    device.pcm_.reset(pcm);
    if (error == -EBUSY) return device.failed("another program uses it", error);
    if (error == -EACCES || error == -EPERM)
        return device.failed("you may not open it; join the group `audio`", error);
    if (error < 0)
        return device.failed("cannot be opened; `longwave devices --microphones` lists the names", error);
    LW_TRY(device.configure(options));
    return device;
}

Status AlsaDevice::configure(const MicrophoneOptions &options) {
    snd_pcm_hw_params_t *params = nullptr;
    snd_pcm_hw_params_alloca(&params);
    if (const int error = snd_pcm_hw_params_any(pcm_.get(), params); error < 0)
        return failed("has no usable settings", error);
    // soxr converts rates better than the plug-ins of ALSA do.
    snd_pcm_hw_params_set_rate_resample(pcm_.get(), params, 0);
    if (const int error = snd_pcm_hw_params_set_access(pcm_.get(), params, SND_PCM_ACCESS_RW_INTERLEAVED);
        error < 0)
        return failed("does not deliver interleaved samples; try " + converting(name_), error);
    LW_TRY(choose_format(params));
    LW_TRY(choose_channels(params, options));
    LW_TRY(choose_rate(params, options.audio));
    unsigned buffer = buffer_us, period = period_us; // wishes: each device has limits of its own
    snd_pcm_hw_params_set_buffer_time_near(pcm_.get(), params, &buffer, nullptr);
    snd_pcm_hw_params_set_period_time_near(pcm_.get(), params, &period, nullptr);
    if (const int error = snd_pcm_hw_params(pcm_.get(), params); error < 0)
        return failed("refuses its settings", error);
    buffer_.resize(most_frames * channels_ * audio::bytes_of(encoding_of(format_)));
    return start();
}

Status AlsaDevice::choose_format(snd_pcm_hw_params_t *params) {
    std::string names;
    for (const auto &known : formats) {
        format_ = known.format;
        if (snd_pcm_hw_params_set_format(pcm_.get(), params, format_) == 0) return {};
        names.append(names.empty() ? "" : ", ").append(snd_pcm_format_name(format_));
    }
    return Status::device("microphone " + name_ + ": delivers none of the sample formats " + names +
                          "; try the device " + converting(name_) + ", which converts them");
}

Status AlsaDevice::choose_channels(snd_pcm_hw_params_t *params, const MicrophoneOptions &options) {
    unsigned least = 0, most = 0;
    snd_pcm_hw_params_get_channels_min(params, &least);
    snd_pcm_hw_params_get_channels_max(params, &most);
    channels_ = options.audio.raw_channels;
    if (channels_ == 1) channels_ = std::clamp(std::max(options.audio.channel, 1u), least, most);
    if (snd_pcm_hw_params_set_channels(pcm_.get(), params, channels_) < 0)
        return Status::input("microphone " + name_ + ": cannot deliver " + std::to_string(channels_) +
                             " channels; it has " + std::to_string(least) + " to " + std::to_string(most));
    LW_TRY(audio::check_channel("microphone " + name_, channels_, options.audio.channel));
    channel_ = options.audio.channel ? options.audio.channel - 1 : 0;
    return {};
}

// The rate that is asked for, or else the next higher one: the reader converts it, or refuses it.
Status AlsaDevice::choose_rate(snd_pcm_hw_params_t *params, const audio::Options &options) {
    const uint32_t wanted = options.raw_rate ? options.raw_rate : options.sample_rate;
    unsigned rate = wanted;
    int direction = 0;
    if (snd_pcm_hw_params_test_rate(pcm_.get(), params, rate, 0) < 0) {
        if (options.raw_rate)
            return Status::input("microphone " + name_ + ": does not record at " + std::to_string(rate) +
                                 " Hz");
        if (snd_pcm_hw_params_set_rate_min(pcm_.get(), params, &rate, &direction) == 0)
            snd_pcm_hw_params_set_rate_first(pcm_.get(), params, &rate, &direction);
        else snd_pcm_hw_params_set_rate_last(pcm_.get(), params, &rate, &direction);
    } else if (const int error = snd_pcm_hw_params_set_rate(pcm_.get(), params, rate, 0); error < 0) {
        return failed("does not record at " + std::to_string(rate) + " Hz", error);
    }
    if (snd_pcm_hw_params_get_rate(params, &rate, &direction) < 0 || rate == 0)
        return Status::device("microphone " + name_ + ": does not tell its sample rate");
    rate_ = rate;
    return {};
}

Status AlsaDevice::start() {
    if (const int error = snd_pcm_prepare(pcm_.get()); error < 0) return failed("cannot be prepared", error);
    if (const int error = snd_pcm_start(pcm_.get()); error < 0) return failed("does not start", error);
    return {};
}

Expected<Captured> AlsaDevice::read(float *samples, size_t n) {
    const int ready = snd_pcm_wait(pcm_.get(), wait_ms);
    if (ready < 0) return recover(ready);
    if (ready == 0 && snd_pcm_state(pcm_.get()) == SND_PCM_STATE_RUNNING) return Captured{};
    const snd_pcm_sframes_t frames = snd_pcm_readi(pcm_.get(), buffer_.data(), std::min(n, most_frames));
    if (frames == -EAGAIN) return Captured{};
    if (frames < 0) return recover(static_cast<int>(frames));
    Captured result;
    result.frames = static_cast<size_t>(frames);
    result.ended = frames == 0;
    failures_ = 0;
    decode(result.frames, samples);
    return result;
}

Expected<Captured> AlsaDevice::recover(int error) {
    if (error == -EINTR) return Captured{};
    if (++failures_ > most_failures) return failed("fails again and again without any audio", error);
    if (error == -ESTRPIPE) return resume();
    // A device that is gone may report any error.
    if (error != -EPIPE || snd_pcm_state(pcm_.get()) == SND_PCM_STATE_DISCONNECTED)
        return failed("cannot be read", error);
    LW_TRY(start());
    Captured result;
    result.notice = "microphone " + name_ + ": audio was lost, because it was not read in time (overrun " +
                    std::to_string(++overruns_) + ")";
    return result;
}

// The machine slept. A driver that cannot resume starts again.
Expected<Captured> AlsaDevice::resume() {
    int error = -EAGAIN;
    for (int tries = 0; tries < 100 && error == -EAGAIN; tries++) {
        error = snd_pcm_resume(pcm_.get());
        if (error == -EAGAIN) std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    }
    if (error < 0 || snd_pcm_state(pcm_.get()) != SND_PCM_STATE_RUNNING) LW_TRY(start());
    Captured result;
    result.notice = "microphone " + name_ + ": the machine slept; audio continues";
    return result;
}

void AlsaDevice::decode(size_t frames, float *samples) const {
    const audio::Encoding encoding = encoding_of(format_);
    const size_t bytes = audio::bytes_of(encoding);
    for (size_t i = 0; i < frames; i++)
        samples[i] = audio::decode(encoding, buffer_.data() + (i * channels_ + channel_) * bytes);
}

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
