// The parts of Halide's internal interface that schedules use, under names of their own. Halide may
// change them in any version: no file outside this folder names Halide::Internal, and
// halide_internals_test checks what this folder relies on.
#pragma once
#include <Halide.h>
#include <optional>
#include <string>

namespace longwave::schedules {

// A constant of any type. Halide's implicit conversions of double to Expr give float32.
Halide::Expr constant(Halide::Type type, double value);
inline Halide::Expr constant(double value) { return constant(Halide::Float(64), value); }
Halide::Expr zero(Halide::Type type);
Halide::Expr always(); // the condition true
std::optional<int64_t> constant_value(const Halide::Expr &value);

Halide::Expr simplified(const Halide::Expr &value);

// A name that this process has not used before, for several RDoms of one role in one kernel.
std::string fresh_name(const std::string &role);

// Element (x, y) of a buffer, read by a load that may stand in the extent of a loop. There Halide
// rejects calls of Funcs, which an ImageParam is.
Halide::Expr load_for_extent(const Halide::ImageParam &buffer, int x, int y);

// What the caller says of the buffer, although it is declared. A distance that LLVM does not know
// gets an address of its own, instead of an offset to another address.
Halide::Expr stride_of_caller(const Halide::ImageParam &buffer, int dimension);

// Asks the second cache for the line `bytes` after the first element of the buffer. The value is 0:
// added to an index, the sum keeps the request where the index is computed.
Halide::Expr prefetched(const Halide::ImageParam &buffer, const Halide::Expr &bytes);

} // namespace longwave::schedules
