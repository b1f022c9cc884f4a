// Arrays from Python to the C API and back.
#include "bindings.h"

namespace longwave::python {
namespace {

std::string shape_text(const Array &array) {
    std::string text;
    for (size_t i = 0; i < array.ndim(); i++) text += (i ? ", " : "") + std::to_string(array.shape(i));
    return "[" + text + "]";
}

// Number of ticks; throws unless the shape is [ticks, width], or [ticks] with width 1.
size_t ticks_of(const Array &array, const lw_input_info &input) {
    const bool rows = array.ndim() == 2 && array.shape(1) == input.width;
    if (rows || (array.ndim() == 1 && input.width == 1)) return array.shape(0);
    throw nb::value_error(("input " + std::string(input.name) + ": expected an array [ticks, " +
                           std::to_string(input.width) + "]" + (input.width == 1 ? " or [ticks]" : "") +
                           ", got " + shape_text(array))
                              .c_str());
}

lw_sample_format format_of(const Array &array, const lw_input_info &input, bool &fits) {
    // The C library reads whole elements: a view may begin between two.
    const auto is = [&](nb::dlpack::dtype type) {
        return array.dtype() == type && reinterpret_cast<uintptr_t>(array.data()) % (type.bits / 8) == 0;
    };
    if (input.kind == LW_INPUT_TOKENS) {
        fits = is(nb::dtype<int32_t>());
        return LW_I32;
    }
    if (input.kind == LW_INPUT_AUDIO && (fits = is(nb::dtype<int16_t>()))) return LW_S16;
    fits = is(nb::dtype<float>());
    return LW_F32;
}

// Of another type or layout: NumPy converts it, or says why not.
Array converted(nb::handle values, const lw_input_info &input, lw_sample_format &format) {
    const nb::object numpy = nb::module_::import_("numpy");
    const nb::object given = numpy.attr("asarray")(values);
    const std::string kind = nb::cast<nb::str>(given.attr("dtype").attr("kind")).c_str();
    // Of other widths of integers nobody knows what full scale is.
    const bool wide = input.kind == LW_INPUT_AUDIO && kind == "i" &&
                      nb::cast<size_t>(given.attr("dtype").attr("itemsize")) == 4;
    if (wide) { // as `longwave run`: full scale is 2^31
        format = LW_F32;
        return nb::cast<Array>(numpy.attr("require")(given.attr("__truediv__")(2147483648.0), "float32",
                                                     nb::make_tuple("C", "A")));
    }
    const bool sound = input.kind == LW_INPUT_AUDIO && kind == "i" &&
                       nb::cast<size_t>(given.attr("dtype").attr("itemsize")) == 2;
    const bool ids = input.kind == LW_INPUT_TOKENS && (kind == "i" || kind == "u");
    if (!sound && !ids && !(input.kind != LW_INPUT_TOKENS && kind == "f"))
        throw nb::type_error(("input " + std::string(input.name) + ": expected " +
                              (input.kind == LW_INPUT_TOKENS  ? "integers"
                               : input.kind == LW_INPUT_AUDIO ? "floats, or int16 or int32 audio"
                                                              : "floats"))
                                 .c_str());
    format = ids ? LW_I32 : sound ? LW_S16 : LW_F32;
    if (ids && nb::cast<size_t>(given.attr("size")) > 0 &&
        (given.attr("max")() > nb::int_(INT32_MAX) || given.attr("min")() < nb::int_(INT32_MIN)))
        throw nb::value_error("a token id outside of int32");
    const char *const type = format == LW_I32 ? "int32" : format == LW_S16 ? "int16" : "float32";
    return nb::cast<Array>(numpy.attr("require")(given, type, nb::make_tuple("C", "A")));
}

} // namespace

Samples samples(nb::handle values, const lw_input_info &input) {
    Samples made{};
    bool fits = false;
    if (nb::try_cast(values, made.array, false)) made.format = format_of(made.array, input, fits);
    if (!fits) {
        made.array = {};
        made.array = converted(values, input, made.format);
    }
    made.ticks = ticks_of(made.array, input);
    made.data = made.array.data();
    if (made.format == LW_I32) {
        const auto *const ids = static_cast<const int32_t *>(made.data);
        made.ids.assign(ids, ids + made.array.size());
        made.data = made.ids.data();
    }
    return made;
}

lw_sample_format format_named(const std::string &name) {
    if (name == "float32") return LW_F32;
    if (name == "int16") return LW_S16;
    throw nb::value_error(("format \"" + name + "\": expected \"float32\" or \"int16\"").c_str());
}

nb::object rows_array(std::unique_ptr<float[]> data, size_t rows, size_t width) {
    float *const at = data.release();
    const nb::capsule owner(at, [](void *p) noexcept { delete[] static_cast<float *>(p); });
    const size_t shape[] = {rows, width};
    return nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<2>>(at, 2, shape, owner));
}

} // namespace longwave::python
