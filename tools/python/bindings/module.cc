#include "bindings.h"
#include <map>

NB_MODULE(_native, module) {
    using namespace longwave::python;
    module.doc() = "The C API of Longwave. Use `import longwave`.";
    bind_errors(module);
    bind_model(module);
    bind_stream(module);
    bind_batch(module);
    bind_spotter(module);
    bind_speech_detector(module);
    bind_audio_stream(module);
    bind_generator(module);
    module.attr("version") = lw_version();
}

// One exception class per lw_status, all derived from longwave.Error.

namespace longwave::python {
namespace {

struct Name {
    lw_status status;
    const char *name, *also; // a built-in class that callers may catch as well
};

constexpr Name names[] = {
    {LW_INVALID_ARGUMENT, "InvalidArgumentError", "ValueError"},
    {LW_WRONG_STATE, "WrongStateError", "RuntimeError"},
    {LW_TOO_SMALL, "TooSmallError", "ValueError"},
    {LW_NOT_FOUND, "NotFoundError", "LookupError"},
    {LW_NO_STREAM, "NoStreamError", "RuntimeError"},
    {LW_TOO_LONG, "TooLongError", "ValueError"},
    {LW_TOO_SHORT, "TooShortError", "ValueError"},
    {LW_BAD_ARTIFACT, "BadArtifactError", "ValueError"},
    {LW_BAD_VERSION, "BadVersionError", "ValueError"},
    {LW_UNSIGNED_CODE, "UnsignedCodeError", "PermissionError"},
    {LW_NO_VARIANT, "NoVariantError", "RuntimeError"},
    {LW_BAD_STATE, "BadStateError", "ValueError"},
    {LW_BAD_TOKEN, "BadTokenError", "ValueError"},
    {LW_NO_CODE, "NoCodeError", "RuntimeError"},
    {LW_OLD_VERSION, "OldVersionError", "PermissionError"},
    {LW_NO_MEMORY, "NoMemoryError", "MemoryError"},
    {LW_IO, "IoError", "OSError"},
    {LW_DEVICE, "DeviceError", "RuntimeError"},
    {LW_NOT_FINITE, "NotFiniteError", "ArithmeticError"},
    {LW_NO_DEVICE, "NoDeviceError", "RuntimeError"},
    {LW_UNSUPPORTED, "UnsupportedError", "RuntimeError"},
    {LW_DEVICE_LOST, "DeviceLostError", "RuntimeError"},
    {LW_TIMEOUT, "TimeoutError", "RuntimeError"},
    {LW_DEVICE_WRONG, "DeviceWrongError", "RuntimeError"},
    {LW_CHECK_FAILED, "CheckFailedError", "RuntimeError"},
};

// Held for the life of the process: an exception may be raised while the interpreter ends.
std::map<int, PyObject *> &classes() {
    static auto *const map = new std::map<int, PyObject *>;
    return *map;
}

} // namespace

void fail(lw_status status, const std::string &detail) { throw Failure{status, detail}; }

void bind_errors(nb::module_ &module) {
    const nb::object builtins = nb::module_::import_("builtins");
    const auto add = [&](const char *name, const nb::object &bases) {
        PyObject *made = PyErr_NewException((std::string("longwave.") + name).c_str(), bases.ptr(), nullptr);
        if (!made) nb::raise_python_error();
        module.attr(name) = nb::borrow(made);
        return made;
    };
    PyObject *base = add("Error", builtins.attr("Exception"));
    classes()[LW_OK] = base;
    for (const Name &entry : names)
        classes()[entry.status] =
            add(entry.name, nb::make_tuple(nb::borrow(base), builtins.attr(entry.also)));
    nb::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Failure &failure) {
            const auto found = classes().find(failure.status);
            const std::string text =
                failure.detail.empty() ? lw_status_text(failure.status)
                                       : std::string(lw_status_text(failure.status)) + ": " + failure.detail;
            PyErr_SetString(found == classes().end() ? classes()[LW_OK] : found->second, text.c_str());
        }
    });
}

} // namespace longwave::python
