/** @file
 * Longwave for C++17: objects that close what they open. Header only, over longwave.h, spotter.h,
 * speech_detector.h, audio_stream.h, generator.h, batch.h and resampler.h. Link the C library.
 *
 *   @code
 *   longwave::Model model = longwave::Model::open("kws.lw", options);
 *   longwave::Stream stream(model);
 *   stream.push(samples, n);
 *   while (auto row = stream.pull()) use(row->data, row->width);
 *   @endcode
 *
 * Errors
 *   Each operation has two forms. `open`, `push`, `pull` ... throw longwave::Error. `try_open`,
 *   `try_push`, `try_pull` ... are noexcept and return the lw_status that the C function
 *   documents. Without exceptions (-fno-exceptions) only the second form exists.
 *
 * Ownership
 *   Objects can be moved but not copied. A stream, spotter, speech detector, audio stream,
 * generator or batch keeps its model, which may go first. A device (lw_open_options.device) must
 * outlive the model and all its objects. A moved-from or default-constructed object is empty: it
 * converts to false, and operations return LW_INVALID_ARGUMENT.
 *
 * Threads and real time
 *   As for the C functions. Creation, move and destruction may allocate or free; the try_ forms of
 *   push and pull do not, on the CPU. Throwing allocates.
 */
#ifndef LONGWAVE_HPP
#define LONGWAVE_HPP
#include "longwave/audio_stream.h"
#include "longwave/batch.h"
#include "longwave/generator.h"
#include "longwave/longwave.h"
#include "longwave/resampler.h"
#include "longwave/speech_detector.h"
#include "longwave/spotter.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef __cpp_exceptions
#include <stdexcept>
#include <string>
#endif

namespace longwave {

/** A struct of the C interface with struct_size set and all other fields zero. */
template <class Struct> Struct make() noexcept { return lw_initial<Struct>(); }

#ifdef __cpp_exceptions
/** A failed operation: its status and the text of lw_last_error. */
class Error : public std::runtime_error {
public:
    explicit Error(lw_status status)
        : std::runtime_error(std::string(lw_status_text(status)) + ": " + lw_last_error()),
          status_(status) {}
    lw_status status() const noexcept { return status_; }

private:
    lw_status status_;
};
#endif

namespace detail {

#ifdef __cpp_exceptions
inline void check(lw_status status) {
    if (status != LW_OK) throw Error(status);
}

/** The result of try_pull; empty when none waits or, after finish, none is left. */
template <class Result, class Object> std::optional<Result> pull(Object &from) {
    Result result;
    const lw_status status = from.try_pull(result);
    if (status == LW_AGAIN || status == LW_END) return std::nullopt;
    check(status);
    return result;
}
/** All bytes of try_save. */
template <class Object> std::vector<uint8_t> save(const Object &from) {
    size_t n = 0;
    check(from.try_save(nullptr, 0, n));
    std::vector<uint8_t> bytes(n);
    check(from.try_save(bytes.data(), bytes.size(), n));
    return bytes;
}
#endif

/** Type of pushed samples as an lw_sample_format. */
template <class T> struct format_of;
template <> struct format_of<float> : std::integral_constant<lw_sample_format, LW_F32> {};
template <> struct format_of<int16_t> : std::integral_constant<lw_sample_format, LW_S16> {};
template <> struct format_of<int32_t> : std::integral_constant<lw_sample_format, LW_I32> {};

/** A C object, which goes with it. The library keeps what that object needs. */
template <class T, void (*destroy)(T *)> class Handle {
public:
    Handle() = default;
    explicit Handle(T *object) noexcept : object_(object) {}
    ~Handle() { destroy(object_); }
    Handle(Handle &&other) noexcept { std::swap(object_, other.object_); }
    Handle &operator=(Handle &&other) noexcept {
        Handle moved(std::move(other));
        std::swap(object_, moved.object_);
        return *this;
    }
    T *get() const noexcept { return object_; }

private:
    T *object_ = nullptr;
};

/** Another format, of which no value is pushed. */
inline lw_status wrong_type() noexcept {
    lw_set_last_error("the samples have another type than the format of the options");
    return LW_INVALID_ARGUMENT;
}

} // namespace detail

/** A compiled model. Any number of threads may use it at once. */
class Model {
public:
    Model() = default;

    /** lw_model_open. */
    [[nodiscard]] static lw_status try_open(const char *path, const lw_open_options *options,
                                            Model &out) noexcept {
        lw_model *model = nullptr;
        const lw_status status = lw_model_open(path, options, &model);
        if (status == LW_OK) out.handle_ = detail::Handle<lw_model, lw_model_close>(model);
        return status;
    }
    /** lw_model_open_memory. `bytes` are copied. */
    [[nodiscard]] static lw_status try_open(const void *bytes, size_t size,
                                            const lw_open_options *options, Model &out) noexcept {
        lw_model *model = nullptr;
        const lw_status status = lw_model_open_memory(bytes, size, options, &model);
        if (status == LW_OK) out.handle_ = detail::Handle<lw_model, lw_model_close>(model);
        return status;
    }
    /** lw_model_get_info. Strings and lists in `out` belong to the model. */
    [[nodiscard]] lw_status try_info(lw_model_info &out) const noexcept {
        out = make<lw_model_info>();
        return lw_model_get_info(get(), &out);
    }
    /** lw_model_verify. */
    [[nodiscard]] lw_status try_verify(double *worst = nullptr) const noexcept {
        return lw_model_verify(get(), worst);
    }
    /** lw_model_label: nullptr for an unknown one. */
    const char *label(uint32_t index) const noexcept { return lw_model_label(get(), index); }

#ifdef __cpp_exceptions
    static Model open(const char *path, const lw_open_options &options = make<lw_open_options>()) {
        Model model;
        detail::check(try_open(path, &options, model));
        return model;
    }
    static Model open(const void *bytes, size_t size,
                      const lw_open_options &options = make<lw_open_options>()) {
        Model model;
        detail::check(try_open(bytes, size, &options, model));
        return model;
    }
    lw_model_info info() const {
        lw_model_info info;
        detail::check(try_info(info));
        return info;
    }
    /** Returns the largest error, relative to its limit. */
    double verify() const {
        double worst = 0;
        detail::check(try_verify(&worst));
        return worst;
    }
#endif

    lw_model *get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    detail::Handle<lw_model, lw_model_close> handle_;
};

/** One row of an output. `data` is valid until the next call on the stream. */
struct Row {
    uint32_t output; /**< which stream output */
    uint32_t width;  /**< floats */
    const float *data;
    uint64_t number; /**< of this row, from 0 */
    uint64_t end;    /**< input ticks that it needed */
    const float *begin() const noexcept { return data; }
    const float *end_of_data() const noexcept { return data + width; }
};

/** A stream. Belongs to one thread at a time. */
class Stream {
public:
    Stream() = default;

    /** lw_stream_create. Without a format it takes float samples, or ids if the input has ids: the
     * type of other samples is refused. */
    [[nodiscard]] static lw_status try_create(const Model &model, const lw_stream_options *options,
                                              Stream &out) noexcept {
        lw_stream_options settings = options ? *options : make<lw_stream_options>();
        if (settings.format == 0) {
            lw_input_info input = make<lw_input_info>();
            (void)lw_model_input(model.get(), 0, &input);
            settings.format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
        }
        lw_stream *stream = nullptr;
        const lw_status status = lw_stream_create(model.get(), &settings, &stream);
        if (status != LW_OK) return status;
        out.handle_ = detail::Handle<lw_stream, lw_stream_destroy>(stream);
        out.format_ = settings.format;
        return LW_OK;
    }
    /** lw_stream_push: `n` ticks of float, int16_t or int32_t samples, as the stream was created
     * for. LW_INVALID_ARGUMENT: samples of another type. `taken` may be null. */
    template <class T>
    [[nodiscard]] lw_status try_push(const T *samples, size_t n, size_t *taken = nullptr) noexcept {
        if (taken) *taken = 0;
        if (!fits<T>()) return detail::wrong_type();
        return lw_stream_push(get(), samples, n, taken);
    }
    /** lw_stream_prefill. LW_INVALID_ARGUMENT: samples of another type. */
    template <class T> [[nodiscard]] lw_status try_prefill(const T *samples, size_t n) noexcept {
        if (!fits<T>()) return detail::wrong_type();
        return lw_stream_prefill(get(), samples, n);
    }
    /** lw_stream_pull. LW_AGAIN: no row waits. LW_END: none is left. */
    [[nodiscard]] lw_status try_pull(Row &row) noexcept {
        lw_stream_row out = make<lw_stream_row>();
        const lw_status status = lw_stream_pull(get(), &out);
        if (status == LW_OK) row = {out.index, out.width, out.data, out.row, out.end};
        return status;
    }
    [[nodiscard]] lw_status try_finish() noexcept { return lw_stream_finish(get()); }
    [[nodiscard]] lw_status try_reset() noexcept { return lw_stream_reset(get()); }
    /** lw_stream_set: a scalar of the model, from the next block on. */
    [[nodiscard]] lw_status try_set(const char *scalar, float value) noexcept {
        return lw_stream_set(get(), scalar, value);
    }
    /** lw_stream_get: the value that the next block will have. */
    [[nodiscard]] lw_status try_get(const char *scalar, float &value) const noexcept {
        return lw_stream_get(get(), scalar, &value);
    }
    /** lw_stream_copy: continues as `from` would. */
    [[nodiscard]] lw_status try_copy(const Stream &from) noexcept {
        return lw_stream_copy(get(), from.get());
    }
    [[nodiscard]] lw_status try_save(void *bytes, size_t capacity, size_t &n) const noexcept {
        return lw_stream_save(get(), bytes, capacity, &n);
    }
    [[nodiscard]] lw_status try_load(const void *bytes, size_t n) noexcept {
        return lw_stream_load(get(), bytes, n);
    }
    [[nodiscard]] lw_status try_stats(lw_stream_stats &out) const noexcept {
        out = make<lw_stream_stats>();
        return lw_stream_get_stats(get(), &out);
    }

#ifdef __cpp_exceptions
    explicit Stream(const Model &model) { detail::check(try_create(model, nullptr, *this)); }
    Stream(const Model &model, const lw_stream_options &options) {
        detail::check(try_create(model, &options, *this));
    }
    /** Returns the ticks taken: fewer than n when the queue is full. Then pull, and push the
     * rest. */
    template <class T> size_t push(const T *samples, size_t n) {
        size_t taken = 0;
        detail::check(try_push(samples, n, &taken));
        return taken;
    }
    template <class T> void prefill(const T *samples, size_t n) {
        detail::check(try_prefill(samples, n));
    }
    /** The next row; empty when none waits or, after finish, none is left. */
    std::optional<Row> pull() { return detail::pull<Row>(*this); }
    void finish() { detail::check(try_finish()); }
    void reset() { detail::check(try_reset()); }
    void set(const char *scalar, float value) { detail::check(try_set(scalar, value)); }
    float scalar(const char *name) const {
        float value = 0;
        detail::check(try_get(name, value));
        return value;
    }
    void copy(const Stream &from) { detail::check(try_copy(from)); }
    std::vector<uint8_t> save() const { return detail::save(*this); }
    void load(const std::vector<uint8_t> &bytes) {
        detail::check(try_load(bytes.data(), bytes.size()));
    }
    lw_stream_stats stats() const {
        lw_stream_stats stats;
        detail::check(try_stats(stats));
        return stats;
    }
#endif

    /** Whether it takes samples of this type. */
    template <class T> bool fits() const noexcept {
        return !get() || detail::format_of<T>::value == format_;
    }
    lw_stream *get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    detail::Handle<lw_stream, lw_stream_destroy> handle_;
    lw_sample_format format_ = LW_F32;
};

/** A keyword spotter. Belongs to one thread at a time. */
class Spotter {
public:
    Spotter() = default;

    /** lw_spotter_create. */
    [[nodiscard]] static lw_status try_create(const Model &model, const lw_spotter_options *options,
                                              Spotter &out) noexcept {
        lw_spotter *spotter = nullptr;
        const lw_status status = lw_spotter_create(model.get(), options, &spotter);
        if (status != LW_OK) return status;
        out.handle_ = detail::Handle<lw_spotter, lw_spotter_destroy>(spotter);
        out.format_ = options->format;
        return LW_OK;
    }
    /** lw_spotter_push: float or int16_t samples, as the spotter was created for.
     * LW_INVALID_ARGUMENT: samples of another type. `taken` may be null. */
    template <class T>
    [[nodiscard]] lw_status try_push(const T *samples, size_t n, size_t *taken = nullptr) noexcept {
        if (taken) *taken = 0;
        if (!get() || detail::format_of<T>::value == format_)
            return lw_spotter_push(get(), samples, n, taken);
        return detail::wrong_type();
    }
    /** lw_spotter_pull. LW_AGAIN: no event waits. LW_END: none is left. */
    [[nodiscard]] lw_status try_pull(lw_spotter_event &event) noexcept {
        event = make<lw_spotter_event>();
        return lw_spotter_pull(get(), &event);
    }
    [[nodiscard]] lw_status try_finish() noexcept { return lw_spotter_finish(get()); }
    [[nodiscard]] lw_status try_reset() noexcept { return lw_spotter_reset(get()); }
    /** lw_spotter_copy: continues as `from` would. */
    [[nodiscard]] lw_status try_copy(const Spotter &from) noexcept {
        return lw_spotter_copy(get(), from.get());
    }
    [[nodiscard]] lw_status try_save(void *bytes, size_t capacity, size_t &n) const noexcept {
        return lw_spotter_save(get(), bytes, capacity, &n);
    }
    [[nodiscard]] lw_status try_load(const void *bytes, size_t n) noexcept {
        return lw_spotter_load(get(), bytes, n);
    }
    /** lw_spotter_gain: the factor of samples now. Of a spotter with gain_db or auto_gain. */
    float gain() const noexcept { return lw_spotter_gain(get()); }

#ifdef __cpp_exceptions
    /** With the settings of the model, for samples of this format. */
    Spotter(const Model &model, lw_sample_format format) {
        lw_spotter_options options = make<lw_spotter_options>();
        options.format = format;
        detail::check(try_create(model, &options, *this));
    }
    Spotter(const Model &model, const lw_spotter_options &options) {
        detail::check(try_create(model, &options, *this));
    }
    /** Returns the samples taken: fewer than n while 16 events wait. Then pull, and push the
     * rest. */
    template <class T> size_t push(const T *samples, size_t n) {
        size_t taken = 0;
        detail::check(try_push(samples, n, &taken));
        return taken;
    }
    /** The next event; empty when none waits or, after finish, none is left. */
    std::optional<lw_spotter_event> pull() { return detail::pull<lw_spotter_event>(*this); }
    void finish() { detail::check(try_finish()); }
    void reset() { detail::check(try_reset()); }
    void copy(const Spotter &from) { detail::check(try_copy(from)); }
    std::vector<uint8_t> save() const { return detail::save(*this); }
    void load(const std::vector<uint8_t> &bytes) {
        detail::check(try_load(bytes.data(), bytes.size()));
    }
#endif

    lw_spotter *get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    detail::Handle<lw_spotter, lw_spotter_destroy> handle_;
    lw_sample_format format_ = LW_F32;
};

/** Segments of speech in audio. Belongs to one thread at a time. */
class SpeechDetector {
public:
    SpeechDetector() = default;

    /** lw_speech_detector_create. */
    [[nodiscard]] static lw_status try_create(const Model &model,
                                              const lw_speech_detector_options *options,
                                              SpeechDetector &out) noexcept {
        lw_speech_detector *detector = nullptr;
        const lw_status status = lw_speech_detector_create(model.get(), options, &detector);
        if (status != LW_OK) return status;
        out.handle_ = detail::Handle<lw_speech_detector, lw_speech_detector_destroy>(detector);
        out.format_ = options->format;
        return LW_OK;
    }
    /** lw_speech_detector_push: float or int16_t samples, as the detector was created for.
     * LW_INVALID_ARGUMENT: samples of another type. `taken` may be null. */
    template <class T>
    [[nodiscard]] lw_status try_push(const T *samples, size_t n, size_t *taken = nullptr) noexcept {
        if (taken) *taken = 0;
        if (!get() || detail::format_of<T>::value == format_)
            return lw_speech_detector_push(get(), samples, n, taken);
        return detail::wrong_type();
    }
    /** lw_speech_detector_pull. LW_AGAIN: no event waits. LW_END: none is left. */
    [[nodiscard]] lw_status try_pull(lw_speech_event &event) noexcept {
        event = make<lw_speech_event>();
        return lw_speech_detector_pull(get(), &event);
    }
    [[nodiscard]] lw_status try_finish() noexcept { return lw_speech_detector_finish(get()); }
    [[nodiscard]] lw_status try_reset() noexcept { return lw_speech_detector_reset(get()); }
    /** lw_speech_detector_copy: continues as `from` would. */
    [[nodiscard]] lw_status try_copy(const SpeechDetector &from) noexcept {
        return lw_speech_detector_copy(get(), from.get());
    }
    [[nodiscard]] lw_status try_save(void *bytes, size_t capacity, size_t &n) const noexcept {
        return lw_speech_detector_save(get(), bytes, capacity, &n);
    }
    [[nodiscard]] lw_status try_load(const void *bytes, size_t n) noexcept {
        return lw_speech_detector_load(get(), bytes, n);
    }

#ifdef __cpp_exceptions
    /** With the default settings, for samples of this format. */
    SpeechDetector(const Model &model, lw_sample_format format) {
        lw_speech_detector_options options = make<lw_speech_detector_options>();
        options.format = format;
        detail::check(try_create(model, &options, *this));
    }
    SpeechDetector(const Model &model, const lw_speech_detector_options &options) {
        detail::check(try_create(model, &options, *this));
    }
    /** Returns the samples taken: fewer than n while 25 events or more wait. Then pull, and push
     * the rest. */
    template <class T> size_t push(const T *samples, size_t n) {
        size_t taken = 0;
        detail::check(try_push(samples, n, &taken));
        return taken;
    }
    /** The next event; empty when none waits or, after finish, none is left. */
    std::optional<lw_speech_event> pull() { return detail::pull<lw_speech_event>(*this); }
    void finish() { detail::check(try_finish()); }
    void reset() { detail::check(try_reset()); }
    void copy(const SpeechDetector &from) { detail::check(try_copy(from)); }
    std::vector<uint8_t> save() const { return detail::save(*this); }
    void load(const std::vector<uint8_t> &bytes) {
        detail::check(try_load(bytes.data(), bytes.size()));
    }
#endif

    lw_speech_detector *get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    detail::Handle<lw_speech_detector, lw_speech_detector_destroy> handle_;
    lw_sample_format format_ = LW_F32;
};

/** Audio in, audio out. Belongs to one thread at a time. */
class AudioStream {
public:
    AudioStream() = default;

    /** lw_audio_stream_create. */
    [[nodiscard]] static lw_status try_create(const Model &model,
                                              const lw_audio_stream_options *options,
                                              AudioStream &out) noexcept {
        lw_audio_stream *stream = nullptr;
        const lw_status status = lw_audio_stream_create(model.get(), options, &stream);
        if (status != LW_OK) return status;
        out.handle_ = detail::Handle<lw_audio_stream, lw_audio_stream_destroy>(stream);
        out.format_ = options->format;
        return LW_OK;
    }
    /** lw_audio_stream_push: float or int16_t samples, as the stream was created for.
     * LW_INVALID_ARGUMENT: samples of another type. `taken` may be null. */
    template <class T>
    [[nodiscard]] lw_status try_push(const T *samples, size_t n, size_t *taken = nullptr) noexcept {
        if (taken) *taken = 0;
        return fits<T>() ? lw_audio_stream_push(get(), samples, n, taken) : detail::wrong_type();
    }
    /** lw_audio_stream_pull, likewise. LW_AGAIN: no sample waits. LW_END: none is left. */
    template <class T>
    [[nodiscard]] lw_status try_pull(T *samples, size_t capacity, size_t &n) noexcept {
        n = 0;
        return fits<T>() ? lw_audio_stream_pull(get(), samples, capacity, &n)
                         : detail::wrong_type();
    }
    /** lw_audio_stream_process: n samples for n samples. `out` may be `in`. */
    template <class T> [[nodiscard]] lw_status try_process(const T *in, T *out, size_t n) noexcept {
        return fits<T>() ? lw_audio_stream_process(get(), in, out, n) : detail::wrong_type();
    }
    [[nodiscard]] lw_status try_finish() noexcept { return lw_audio_stream_finish(get()); }
    [[nodiscard]] lw_status try_reset() noexcept { return lw_audio_stream_reset(get()); }
    /** lw_audio_stream_set: a scalar of the model, from the next block on. */
    [[nodiscard]] lw_status try_set(const char *scalar, float value) noexcept {
        return lw_audio_stream_set(get(), scalar, value);
    }
    [[nodiscard]] lw_status try_info(lw_audio_stream_info &out) const noexcept {
        out = make<lw_audio_stream_info>();
        return lw_audio_stream_get_info(get(), &out);
    }

#ifdef __cpp_exceptions
    /** With the default settings, for samples of this format. */
    AudioStream(const Model &model, lw_sample_format format) {
        lw_audio_stream_options options = make<lw_audio_stream_options>();
        options.format = format;
        detail::check(try_create(model, &options, *this));
    }
    AudioStream(const Model &model, const lw_audio_stream_options &options) {
        detail::check(try_create(model, &options, *this));
    }
    /** Returns the samples taken: fewer than n while more outputs wait than the queue has room for.
     * Then pull, and push the rest. */
    template <class T> size_t push(const T *samples, size_t n) {
        size_t taken = 0;
        detail::check(try_push(samples, n, &taken));
        return taken;
    }
    /** Returns the samples written: 0 when none waits or, after finish, none is left. */
    template <class T> size_t pull(T *samples, size_t capacity) {
        size_t n = 0;
        const lw_status status = try_pull(samples, capacity, n);
        if (status != LW_AGAIN && status != LW_END) detail::check(status);
        return n;
    }
    template <class T> void process(const T *in, T *out, size_t n) {
        detail::check(try_process(in, out, n));
    }
    void finish() { detail::check(try_finish()); }
    void reset() { detail::check(try_reset()); }
    void set(const char *scalar, float value) { detail::check(try_set(scalar, value)); }
    lw_audio_stream_info info() const {
        lw_audio_stream_info info;
        detail::check(try_info(info));
        return info;
    }
#endif

    /** lw_audio_stream_latency. */
    uint32_t latency() const noexcept { return lw_audio_stream_latency(get()); }
    lw_audio_stream *get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    template <class T> bool fits() const noexcept {
        return !get() || detail::format_of<T>::value == format_;
    }

    detail::Handle<lw_audio_stream, lw_audio_stream_destroy> handle_;
    lw_sample_format format_ = LW_F32;
};

/** Audio of any rate and number of channels as floats at another rate. Belongs to one thread at a
 * time. */
class Resampler {
public:
    Resampler() = default;

    /** lw_resampler_create. */
    [[nodiscard]] static lw_status try_create(const lw_resampler_options &options,
                                              Resampler &out) noexcept {
        lw_resampler *resampler = nullptr;
        const lw_status status = lw_resampler_create(&options, &resampler);
        if (status != LW_OK) return status;
        out.handle_ = detail::Handle<lw_resampler, lw_resampler_destroy>(resampler);
        out.format_ = options.format;
        return LW_OK;
    }
    /** lw_resampler_push: frames of float or int16_t samples, as the resampler was created for.
     * LW_INVALID_ARGUMENT: samples of another type. */
    template <class T> [[nodiscard]] lw_status try_push(const T *samples, size_t frames, float *out,
                                                        size_t capacity, size_t &n) noexcept {
        n = 0;
        if (get() && detail::format_of<T>::value != format_) return detail::wrong_type();
        return lw_resampler_push(get(), samples, frames, out, capacity, &n);
    }
    [[nodiscard]] lw_status try_finish(float *out, size_t capacity, size_t &n) noexcept {
        return lw_resampler_finish(get(), out, capacity, &n);
    }
    [[nodiscard]] lw_status try_reset() noexcept { return lw_resampler_reset(get()); }

#ifdef __cpp_exceptions
    explicit Resampler(const lw_resampler_options &options) {
        detail::check(try_create(options, *this));
    }
    /** Returns the floats written. */
    template <class T> size_t push(const T *samples, size_t frames, float *out, size_t capacity) {
        size_t n = 0;
        detail::check(try_push(samples, frames, out, capacity, n));
        return n;
    }
    size_t finish(float *out, size_t capacity) {
        size_t n = 0;
        detail::check(try_finish(out, capacity, n));
        return n;
    }
    void reset() { detail::check(try_reset()); }
#endif

    lw_resampler *get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    detail::Handle<lw_resampler, lw_resampler_destroy> handle_;
    lw_sample_format format_ = LW_F32;
};

/** A text generator, and the stream that it runs. Belongs to one thread at a time. */
class Generator {
public:
    Generator() = default;

    /** lw_generator_create on a stream of its own. Lists in the options are read during the call
     * only. */
    [[nodiscard]] static lw_status
    try_create(const Model &model, const lw_generator_options *options, Generator &out) noexcept {
        Stream stream;
        lw_stream_options one = make<lw_stream_options>();
        one.format = LW_I32;
        one.block = 1;
        if (const lw_status status = Stream::try_create(model, &one, stream)) return status;
        return try_create(std::move(stream), options, out);
    }
    /** lw_generator_create on a stream, which the generator takes over if it succeeds. */
    [[nodiscard]] static lw_status try_create(Stream &&stream, const lw_generator_options *options,
                                              Generator &out) noexcept {
        lw_generator *generator = nullptr;
        const lw_status status = lw_generator_create(stream.get(), options, &generator);
        if (status != LW_OK) return status;
        out.stream_ = std::move(stream);
        out.handle_ = detail::Handle<lw_generator, lw_generator_destroy>(generator);
        return LW_OK;
    }
    [[nodiscard]] lw_status try_prompt(const int32_t *ids, size_t n) noexcept {
        return lw_generator_prompt(get(), ids, n);
    }
    /** lw_generator_next. LW_END: a stop sequence is complete. */
    [[nodiscard]] lw_status try_next(lw_generator_token &token) noexcept {
        token = make<lw_generator_token>();
        return lw_generator_next(get(), &token);
    }
    [[nodiscard]] lw_status try_reset() noexcept { return lw_generator_reset(get()); }
    [[nodiscard]] lw_status try_save(void *bytes, size_t capacity, size_t &n) const noexcept {
        return lw_generator_save(get(), bytes, capacity, &n);
    }
    [[nodiscard]] lw_status try_load(const void *bytes, size_t n) noexcept {
        return lw_generator_load(get(), bytes, n);
    }

#ifdef __cpp_exceptions
    explicit Generator(const Model &model,
                       const lw_generator_options &options = make<lw_generator_options>()) {
        detail::check(try_create(model, &options, *this));
    }
    explicit Generator(Stream &&stream,
                       const lw_generator_options &options = make<lw_generator_options>()) {
        detail::check(try_create(std::move(stream), &options, *this));
    }
    void prompt(const int32_t *ids, size_t n) { detail::check(try_prompt(ids, n)); }
    void prompt(const std::vector<int32_t> &ids) { prompt(ids.data(), ids.size()); }
    /** The next token; empty when a stop sequence is complete. */
    std::optional<lw_generator_token> next() {
        lw_generator_token token;
        const lw_status status = try_next(token);
        if (status == LW_END) return std::nullopt;
        detail::check(status);
        return token;
    }
    void reset() { detail::check(try_reset()); }
    std::vector<uint8_t> save() const { return detail::save(*this); }
    void load(const std::vector<uint8_t> &bytes) {
        detail::check(try_load(bytes.data(), bytes.size()));
    }
#endif

    /** The stream, to copy, save or read its statistics. */
    Stream &stream() noexcept { return stream_; }
    lw_generator *get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    Stream stream_;
    detail::Handle<lw_generator, lw_generator_destroy> handle_;
};

/** Runs streams, spotters, speech detectors or generators of one model together: longwave/batch.h.
 * It holds none of them. Belongs to one thread at a time, with all that a call names. */
class StreamBatch {
public:
    StreamBatch() = default;

    /** lw_batch_create. LW_UNSUPPORTED: the model is on a device. */
    [[nodiscard]] static lw_status try_create(const Model &model, StreamBatch &out) noexcept {
        lw_batch *batch = nullptr;
        const lw_status status = lw_batch_create(model.get(), &batch);
        if (status == LW_OK) out.handle_ = detail::Handle<lw_batch, lw_batch_destroy>(batch);
        return status;
    }
    /** lw_batch_push. The samples have the format of their stream. */
    [[nodiscard]] lw_status try_push(lw_stream *const *streams, size_t n_streams,
                                     const void *const *samples, const size_t *counts,
                                     size_t *taken) noexcept {
        return lw_batch_push(get(), streams, n_streams, samples, counts, taken);
    }
    /** lw_batch_push_spotters. */
    [[nodiscard]] lw_status try_push(lw_spotter *const *spotters, size_t n_spotters,
                                     const void *const *samples, const size_t *counts,
                                     size_t *taken) noexcept {
        return lw_batch_push_spotters(get(), spotters, n_spotters, samples, counts, taken);
    }
    /** lw_batch_push_speech_detectors. */
    [[nodiscard]] lw_status try_push(lw_speech_detector *const *detectors, size_t n_detectors,
                                     const void *const *samples, const size_t *counts,
                                     size_t *taken) noexcept {
        return lw_batch_push_speech_detectors(get(), detectors, n_detectors, samples, counts,
                                              taken);
    }
    /** lw_batch_next. */
    [[nodiscard]] lw_status try_next(lw_generator *const *generators, size_t n_generators,
                                     lw_generator_token *tokens, lw_status *statuses) noexcept {
        return lw_batch_next(get(), generators, n_generators, tokens, statuses);
    }

#ifdef __cpp_exceptions
    explicit StreamBatch(const Model &model) { detail::check(try_create(model, *this)); }
    /** Pushes n ticks to each stream: samples[i] to streams[i]. Returns the ticks that each took.
     */
    template <class T> std::vector<size_t> push(const std::vector<Stream *> &streams,
                                                const std::vector<const T *> &samples, size_t n) {
        std::vector<lw_stream *> list;
        std::vector<const void *> from(samples.begin(), samples.end());
        bool fits = samples.size() == streams.size();
        for (Stream *stream : streams) {
            fits = fits && stream && stream->fits<T>();
            list.push_back(stream ? stream->get() : nullptr);
        }
        detail::check(fits ? LW_OK : detail::wrong_type());
        const std::vector<size_t> counts(list.size(), n);
        std::vector<size_t> taken(list.size());
        detail::check(try_push(list.data(), list.size(), from.data(), counts.data(), taken.data()));
        return taken;
    }
#endif

    /** lw_batch_streams: most streams that one kernel serves. */
    uint32_t streams() const noexcept { return lw_batch_streams(get()); }
    lw_batch *get() const noexcept { return handle_.get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    detail::Handle<lw_batch, lw_batch_destroy> handle_;
};

} // namespace longwave
#endif
