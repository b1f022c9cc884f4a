// The Python module longwave._native: the C API as classes. Arrays are NumPy's; the C functions run
// without the GIL.
#pragma once
#include "longwave/longwave.h"
#include <cstddef>
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <optional>
#include <string>
#include <vector>

namespace longwave::python {

namespace nb = nanobind;

// A failed call. It becomes the Python exception of its status.
struct Failure {
    lw_status status;
    std::string detail;
};

inline void check(lw_status status) {
    if (status != LW_OK) throw Failure{status, lw_last_error()};
}
[[noreturn]] void fail(lw_status status, const std::string &detail);

// A struct of the C API with struct_size set and all other fields zero.
template <class Struct> Struct make() {
    Struct made{};
    made.struct_size = sizeof made;
    return made;
}

// A C object that one thread at a time may use. A second thread gets an error instead of a data
// race: without the GIL nothing else keeps two Python threads apart.
template <class T> class Owned {
public:
    Owned(T *object, void (*destroy)(T *), std::shared_ptr<const void> keeps, const char *what)
        : keeps_(std::move(keeps)), object_(object, destroy), what_(what) {}

    // Runs `call` on the object without the GIL.
    template <class Call> auto use(const Call &call) {
        const std::unique_lock<std::mutex> lock = only_user();
        const nb::gil_scoped_release release;
        return call(object_.get());
    }
    void close() {
        const std::unique_lock<std::mutex> lock(busy_, std::try_to_lock);
        if (!lock) fail(LW_WRONG_STATE, std::string(what_) + " is in use by another thread");
        object_.reset();
        keeps_.reset();
    }
    bool closed() const { return !object_; }
    // The calling thread alone uses the object while the lock lives.
    std::unique_lock<std::mutex> only_user() {
        std::unique_lock<std::mutex> lock(busy_, std::try_to_lock);
        if (!lock) fail(LW_WRONG_STATE, std::string(what_) + " is in use by another thread");
        if (!object_) fail(LW_WRONG_STATE, std::string(what_) + " is closed");
        return lock;
    }
    T *get() const { return object_.get(); } // under that lock

private:
    std::shared_ptr<const void> keeps_; // the model: destroyed after the object
    std::unique_ptr<T, void (*)(T *)> object_;
    std::mutex busy_;
    const char *what_;
};

// The bytes of `save`, a C function that first gives their number: save(nullptr, 0, &n).
template <class Save> std::string saved(const Save &save) {
    size_t n = 0;
    const lw_status asked = save(nullptr, 0, &n);
    if (asked != LW_TOO_SMALL) check(asked);
    std::string bytes(n, '\0');
    check(save(bytes.data(), bytes.size(), &n));
    bytes.resize(n);
    return bytes;
}

// An open model, shared by the Python object and by everything made from it.
class Model {
public:
    // keys: those that are accepted, 32 bytes each, one after the other; None: no signature is asked
    // for.
    Model(const nb::bytes &path, const std::optional<nb::bytes> &keys, uint64_t least_version,
          const std::string &variant, const std::string &device, uint64_t memory_limit, bool map_weights);
    ~Model();

    lw_model *get() const;
    std::shared_ptr<lw_model> share() const { return (get(), model_); }
    void close();

    nb::dict info() const;
    double verify() const;
    nb::object run(nb::args inputs, uint32_t length, uint32_t threads);

private:
    struct Runner; // a lw_runner with its settings, kept for the next call
    std::unique_ptr<Runner> take_runner(const lw_model *model, lw_sample_format format, uint32_t threads);
    void keep_runner(std::unique_ptr<Runner> runner);

    std::shared_ptr<lw_model> model_;
    std::mutex runners_lock_;
    std::vector<std::unique_ptr<Runner>> runners_; // idle; destroyed before the model
};

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// Samples, features or token ids of the first input's kind, as the C API takes them. While it
// lives, the memory stays: a buffer stays exported, so that its owner cannot resize it.
struct Samples {
    Array array;
    std::vector<int32_t> ids; // a copy: the C API checks ids before it reads them
    const void *data;
    size_t ticks;
    lw_sample_format format;
};
// `width` floats per tick. Accepts float32 and, for audio, int16 (divided by 32768) without a copy;
// other float types are converted. Errors: TypeError and ValueError that say what was expected.
Samples samples(nb::handle values, const lw_input_info &input);
lw_input_info input_info(const lw_model *model, uint32_t index);
// "float32" or "int16"; ValueError for others.
lw_sample_format format_named(const std::string &name);

// A NumPy array [rows, width] that owns `data`.
nb::object rows_array(std::unique_ptr<float[]> data, size_t rows, size_t width);

void bind_errors(nb::module_ &module);
void bind_model(nb::module_ &module);
void bind_stream(nb::module_ &module);
void bind_batch(nb::module_ &module);
void bind_spotter(nb::module_ &module);
void bind_speech_detector(nb::module_ &module);
void bind_audio_stream(nb::module_ &module);
void bind_generator(nb::module_ &module);

} // namespace longwave::python
