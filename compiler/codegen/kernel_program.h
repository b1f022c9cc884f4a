// The kernel compiler, longwave-kgen, as a program that stays. Loading Halide takes longer than most GPU
// kernels do, so each process that it runs in forks for every request.
#pragma once
#include "compiler/base/process.h"
#include "formats/base/expected.h"
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace longwave::compiler {

// The versions of kernels that a kernel compiler states: what a cache of its kernels has to tell apart.
class KernelVersions {
public:
    // What `longwave-kgen --versions` printed (schedules/halide/versions.h). None: it is something else.
    static std::optional<KernelVersions> read(const std::string &text);

    // The version of the kernel that the specification names, for a target of targets/. A kernel
    // that the program does not list has all() for its version.
    const std::string &of(const std::string &spec, const std::string &target) const;
    // A hash of everything that the program printed.
    const std::string &all() const { return all_; }

private:
    std::map<std::string, std::string> cpu_, gpu_; // by kernel
    std::string all_;
};

// Any thread may call its functions.
class KernelProgram {
public:
    // The program at this path: one object for the whole process while the file stays the same.
    // Fault::device: there is none, it cannot run, or it states no versions; with its words.
    static Expected<std::shared_ptr<KernelProgram>> at(const std::string &path);

    const KernelVersions &versions() const { return versions_; }

    // What the program does for these arguments, the first of which follows its name. Fault::device: it
    // cannot be started.
    Expected<ProcessResult> run(const std::vector<std::string> &arguments);

private:
    explicit KernelProgram(std::string path) : path_(std::move(path)) {}
    std::string path_;
    KernelVersions versions_;
    std::mutex mutex_;  // of what follows
    bool stays_ = true; // until one did not answer
    std::vector<std::unique_ptr<StayingProgram>> idle_;
};

} // namespace longwave::compiler
