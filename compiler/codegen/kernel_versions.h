// The versions of kernels that a kernel compiler states: what a cache of its kernels has to tell
// apart.
#pragma once
#include "formats/base/expected.h"
#include <map>
#include <string>

namespace longwave::compiler {

class KernelVersions {
public:
    // Runs `kgen --versions` (schedules/halide/versions.h). `kgen`: the absolute path of the
    // program.
    // Fault::device: the program cannot run, fails, or prints something else; with its words.
    static Expected<KernelVersions> read(const std::string &kgen);

    // The version of the kernel that the specification names, for a target of targets/. A kernel
    // that the program does not list gets a hash of everything that the program printed.
    const std::string &of(const std::string &spec, const std::string &target) const;

private:
    std::map<std::string, std::string> cpu_, gpu_; // by kernel
    std::string otherwise_;
};

} // namespace longwave::compiler
