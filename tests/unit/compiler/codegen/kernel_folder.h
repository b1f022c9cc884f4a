// A folder of its own with a kernel cache and a script that stands in for the kernel compiler. Both
// are removed at the end.
#pragma once
#include "compiler/codegen/kernel_cache.h"
#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace longwave::test {

namespace fs = std::filesystem;
using compiler::CompiledKernel;
using compiler::KernelRequest;

inline const std::string plain_signature =
    R"({"args":[{"name":"x","kind":"input","elem":"f32","dims":[[4,1]]}],"scratch_bytes":64})";

// Sets or (null) removes a variable, and puts the old value back.
class Variable {
public:
    Variable(const char *name, const char *value) : name_(name) {
        if (const char *before = std::getenv(name)) before_ = before;
        had_ = std::getenv(name) != nullptr;
        value ? setenv(name, value, 1) : unsetenv(name);
    }
    ~Variable() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }

private:
    const char *name_;
    std::string before_;
    bool had_ = false;
};

class KernelFolder {
public:
    KernelFolder() {
        char name[] = "/tmp/longwave-kernels-XXXXXX";
        path = mkdtemp(name);
        cache = path / "cache";
        write_kgen();
    }
    ~KernelFolder() { fs::remove_all(path); }

    // A script whose objects say what they were made of, and by which version. `versions`: the
    // version of each CPU kernel as JSON; the version of all others is `version`.
    void write_kgen(const std::string &version = "one", const std::string &signature = plain_signature,
                    const std::string &versions = "{}") {
        std::ofstream script(kgen());
        script << "#!/bin/sh\n# version " << version << "\n[ \"$1\" = --stay ] && exit\n"
               << "[ \"$1\" = --versions ] && echo '{\"cpu\":" << versions << ",\"gpu\":{},\"script\":\""
               << version << "\"}' && exit\n"
               << "printf '%s for %s by " << version << "' \"$2\" \"$4\" > \"$8\"\n"
               << "printf '%s' '" << signature << "' > \"${8%.o}.json\"\n"
               << "echo \"$2 $4\" >> '" << (path / "runs").string() << "'\n";
        script.close();
        fs::permissions(kgen(), fs::perms::owner_all);
    }

    std::string kgen() const { return (path / "kgen").string(); }

    // How often the kernel compiler has run.
    size_t runs() const {
        std::ifstream file(path / "runs");
        return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
    }

    Expected<std::vector<CompiledKernel>> compile(const std::vector<KernelRequest> &requests) {
        compiler::KernelCacheOptions options;
        options.kgen = kgen();
        options.folder = use_folder ? cache.string() : "";
        options.jobs = 2;
        options.no_cache = [this](const std::string &why) { no_cache.push_back(why); };
        return compiler::compile_kernels(requests, options);
    }

    // Compiles one kernel and returns its object as text.
    std::string object(const std::string &spec, const std::string &target) {
        const auto kernels = compile({{spec, target}});
        REQUIRE_MESSAGE(kernels, kernels.status().message());
        return {kernels->at(0).object.begin(), kernels->at(0).object.end()};
    }

    // The files in the cache.
    std::vector<fs::path> entries() const {
        std::vector<fs::path> found;
        std::error_code none;
        for (const auto &entry : fs::directory_iterator(cache, none)) found.push_back(entry.path());
        return found;
    }

    fs::path path, cache;
    bool use_folder = true;            // false: the user's cache folder, by the environment
    std::vector<std::string> no_cache; // what compiles said about having none
};

inline mode_t mode_of(const fs::path &path) {
    struct stat info = {};
    REQUIRE(lstat(path.c_str(), &info) == 0);
    return info.st_mode & 07777;
}

} // namespace longwave::test
