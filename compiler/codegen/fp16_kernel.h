// Makes the module of a kernel that stores some arguments as float16 (compiler/plan/fp16_spec.h).
#pragma once
#include "compiler/codegen/dispatch.h"
#include "compiler/plan/fp16_spec.h"
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <cstdint>
#include <vector>

namespace longwave::compiler {

// Makes it so: the module's words, the types of its arguments, the descriptor and the feature more.
// Fault::internal: a module that cannot be rewritten.
Status store_fp16(const Fp16Spec &spec, std::vector<uint8_t> &module, schedules::Signature &signature,
                  Dispatch &dispatch);

} // namespace longwave::compiler
