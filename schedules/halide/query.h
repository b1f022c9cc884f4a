// Capabilities of many kernels at once, without lowering or compiling any of them.
//     longwave-kgen --query IN.json -o OUT.json [--structures FILE.json]
// IN.json is an array of requests:
//     [{"spec":{"kernel":"linear","params":{…}},"target":"vulkan-32k"}, …]
// `spec` is a specification (contract/kernel.h), as an object. OUT.json has one answer per request,
// in the same order:
//     {"supported":true,"version":"<32 hex digits>",
//      "signature":{"args":[…],"fp16":[0,2],"scratch_bytes":0}}
//     {"supported":false,"reason":"linear: param 'in' is 0, must be in [1, 65536]"}
// - `signature` is the one that compiling the kernel reports (kernel.h). `scratch_bytes` is always
//   0 here: only lowering knows it. `fp16` exists for GPU targets: the numbers of the arguments, in
//   call order, that memory may hold as float16. There is no "gpu" member.
// - `version` is a hash of everything that decides the kernel's code apart from specification,
//   target and structures (versions.h). A cache of compiled kernels takes it into its key.
// - `reason` is one line: the text that `longwave-kgen --spec` prints for the same request, without
//   the program's name.
// The answer finds what a schedule checks: unknown kernels and targets, missing schedules,
// parameters out of range, limits of the target that schedules ask for. It does not find limits
// that only lowered code shows: stack frame and constant sizes on a CPU, shared memory and threads
// of a workgroup on a GPU. Schedules must choose sizes within those limits themselves, so compiling
// a supported kernel that breaks one is an internal error. The kernel tests compare each answer
// with compiling. The program ends with 0 when OUT.json is written, whatever the answers are. It
// ends with 1 and a line on standard error when IN.json cannot be read, is not such an array, or a
// schedule crashes.
#pragma once
#include <nlohmann/json.hpp>

namespace longwave::schedules {

// The answers to `requests`. Each request is answered in a child process: Halide numbers the names
// of a process, so that the names in a signature would depend on the requests before.
// Throws SpecError for a malformed array, and when a child process crashes.
nlohmann::json answer_queries(const nlohmann::json &requests, const nlohmann::json &structures);

} // namespace longwave::schedules
