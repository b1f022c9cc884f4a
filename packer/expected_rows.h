// The expected outputs of a file's golden vectors, made anew for other weights: an offline run of the
// file itself computes them. What it proves: streams, and offline runs of other lengths, agree with
// this run on this machine. It is no reference of its own: that the weights lie where they belong, the
// recipe says, which the compiler has proved.
#pragma once
#include "formats/base/expected.h"
#include "packer/shape.h"
#include <longwave/longwave.h>

namespace longwave::packer {

// `model`: opened from the bytes of `shape`, which then needs renew(). Returns the number of golden
// vectors. Fault::input: an output of a stream that no run has.
Expected<size_t> make_expected_rows(Shape &shape, const lw_model *model);

} // namespace longwave::packer
