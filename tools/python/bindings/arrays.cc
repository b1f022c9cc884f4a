// Arrays from Python to the C API and back.
#include "bindings.h"

namespace longwave::python {
namespace {

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

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
    fits = true;
    if (input.kind == LW_INPUT_TOKENS) {
        fits = array.dtype() == nb::dtype<int32_t>();
        return LW_I32;
    }
    if (input.kind == LW_INPUT_AUDIO && array.dtype() == nb::dtype<int16_t>()) return LW_S16;
    fits = array.dtype() == nb::dtype<float>();
    return LW_F32;
}

} // namespace

Samples samples(nb::handle values, const lw_input_info &input) {
    Array array;
    nb::object keeps = nb::borrow(values);
    bool fits = false;
    lw_sample_format format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
    if (nb::try_cast(values, array, false)) format = format_of(array, input, fits);
    if (!fits) { // another type or layout: NumPy converts or says why not
        const nb::object numpy = nb::module_::import_("numpy");
        nb::object given = numpy.attr("asarray")(values);
        const std::string kind = nb::cast<nb::str>(given.attr("dtype").attr("kind")).c_str();
        const bool sound = input.kind == LW_INPUT_AUDIO && kind == "i" &&
                           nb::cast<size_t>(given.attr("dtype").attr("itemsize")) == 2;
        if (!sound && kind != (input.kind == LW_INPUT_TOKENS ? "i" : "f"))
            throw nb::type_error(("input " + std::string(input.name) + ": expected " +
                                  (input.kind == LW_INPUT_TOKENS  ? "integers"
                                   : input.kind == LW_INPUT_AUDIO ? "floats, or int16 audio"
                                                            : "floats"))
                                     .c_str());
        format = input.kind == LW_INPUT_TOKENS ? LW_I32 : sound ? LW_S16 : LW_F32;
        if (format == LW_I32 && nb::cast<size_t>(given.attr("size")) > 0 &&
            (nb::cast<int64_t>(given.attr("max")()) > INT32_MAX ||
             nb::cast<int64_t>(given.attr("min")()) < INT32_MIN))
            throw nb::value_error("a token id outside of int32");
        keeps = numpy.attr("ascontiguousarray")(given, format == LW_I32   ? "int32"
                                                       : format == LW_S16 ? "int16"
                                                                          : "float32");
        array = nb::cast<Array>(keeps);
    }
    return {keeps, array.data(), ticks_of(array, input), format};
}

nb::object rows_array(std::unique_ptr<float[]> data, size_t rows, size_t width) {
    float *const at = data.release();
    const nb::capsule owner(at, [](void *p) noexcept { delete[] static_cast<float *>(p); });
    const size_t shape[] = {rows, width};
    return nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<2>>(at, 2, shape, owner));
}

} // namespace longwave::python
