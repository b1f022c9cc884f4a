// The scalars of the host: numbers of a model that the caller may change while a stream runs
// (fb::HostScalar).
//
// Each lies in the state, as a carry of every op that gives it to others. So it is saved, copied, moved to
// another device and reset as the rest of the state, and the op's kernel moves it on in each block. Here
// are the only writes from outside.
#pragma once
#include "runtime/stream/memory.h"

namespace longwave::runtime {

// Which of the numbers of the field.
enum class ScalarNumber : uint32_t { ended_with = 0, next = 1 };

// Null: the model has no scalar of that name.
const fb::HostScalar *find_scalar(const lw_model &model, const char *name);
// The scalar that a field of the state holds; null: none.
inline const fb::HostScalar *scalar_in(const lw_model &model, const fb::StateField &field) {
    return field.scalar().has_value() ? model.plan().scalars()->Get(*field.scalar()) : nullptr;
}
// False for NaN.
inline bool in_range(const fb::HostScalar &scalar, float value) {
    return value >= scalar.low() && value <= scalar.high();
}
// No block may be in flight. A failure is kept until the device is waited for.
float read_scalar(const lw_stream &stream, const fb::HostScalar &scalar, ScalarNumber which);
// Makes the stream as new, but for the numbers that its next block has.
void clear_but_scalars(lw_stream &stream);
void write_next(lw_stream &stream, const fb::HostScalar &scalar, float value);

} // namespace longwave::runtime
