// The form of an artifact that a program contains (static_model.h), in two steps. So the first can
// be checked as any other artifact, before its code is taken out.
#pragma once
#include "formats/artifact/detach.h"
#include "formats/base/expected.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace longwave::artifact {

// The same model with its derived tables among the weights: nothing is left to prepare. `derived`:
// the Plan.derived_bytes that `prepare` makes. Kernels that nothing else calls are left out, and
// weights that nothing else reads. The result has passed every rule. Errors: Fault::usage for
// entries of a GPU.
Expected<std::vector<uint8_t>> with_derived_tables(std::span<const uint8_t> artifact,
                                                   std::span<const uint8_t> derived);

// What of a plan a program that contains it needs: one code variant, whose code is elsewhere, no
// golden vectors, no report, no texts about kernels. `code`: hash of the code. The result has
// passed every rule.
Expected<std::vector<uint8_t>> without_code(std::span<const uint8_t> artifact, const std::string &target,
                                            const Digest &code);

// Cuts the weights off the end of what without_code made: for a program that gets them from a file.
std::vector<uint8_t> take_weights(std::vector<uint8_t> &artifact);

// The specifications of its kernels, in order.
std::vector<std::string> kernel_specs(std::span<const uint8_t> artifact);

} // namespace longwave::artifact
