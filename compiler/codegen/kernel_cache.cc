#include "compiler/codegen/kernel_cache.h"
#include "compiler/artifact/version.h"
#include "compiler/base/parallel.h"
#include "compiler/base/process.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/codegen/kernel_cache_folder.h"
#include "compiler/codegen/kernel_entry.h"
#include "compiler/codegen/kernel_program.h"
#include "formats/base/expected.h"
#include "formats/package/file_bytes.h"
#include "formats/package/json_text.h"
#include "targets/target.h"
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

namespace longwave::compiler {
namespace {

// The back end of targets that Halide has none for: clang makes objects of the LLVM assembly that
// longwave-kgen writes.

class Clang {
public:
    // The program that $LONGWAVE_CLANG names. Without it: the first of clang-19 to clang-22 and
    // clang in PATH that is version 19 or later. Fault::device: there is none, with what to do.
    static Expected<Clang> find();

    std::string version() const; // what the program says, and the flags: objects of others differ

    // Errors: Fault::internal, with the words of clang.
    Status compile(const targets::Target &target, const std::string &assembly,
                   const std::string &object) const;

private:
    Clang(std::string program, std::string version)
        : program_(std::move(program)), version_(std::move(version)) {}
    std::string program_, version_;
};

constexpr int oldest = 19; // that reads the assembly of Halide's LLVM

// The sizes of stack frames are what stack_bytes() reads (elf_input.h).
const std::vector<std::string> flags = {"-O2",
                                        "-fPIC",
                                        "-ffunction-sections",
                                        "-fstack-size-section",
                                        "-fno-unwind-tables",
                                        "-fno-asynchronous-unwind-tables",
                                        "-Wno-override-module"};

// The first line of `PROGRAM --version`. Empty: not clang, or too old.
std::string version_of(const std::string &program) {
    const auto run = run_process({program, "--version"});
    if (!run || run->exit_code != 0) return "";
    const std::string line = run->output.substr(0, run->output.find('\n')), mark = "clang version ";
    const size_t at = line.find(mark);
    if (at == std::string::npos || std::atoi(line.c_str() + at + mark.size()) < oldest) return "";
    return line;
}

std::string Clang::version() const { return fmt::format("{} {}", version_, fmt::join(flags, " ")); }

Expected<Clang> Clang::find() {
    if (const char *named = std::getenv("LONGWAVE_CLANG")) {
        std::string version = version_of(named);
        if (!version.empty()) return Clang(named, std::move(version));
        return Status::device(
            fmt::format("LONGWAVE_CLANG={}: is not a clang of version {} or later", named, oldest));
    }
    for (const char *name : {"clang-19", "clang-20", "clang-21", "clang-22", "clang"})
        if (std::string version = version_of(name); !version.empty()) return Clang(name, std::move(version));
    return Status::device(
        fmt::format("this target needs clang {} or later: install the package clang-{}, or set "
                    "LONGWAVE_CLANG to its path",
                    oldest, oldest));
}

Status Clang::compile(const targets::Target &target, const std::string &assembly,
                      const std::string &object) const {
    std::vector<std::string> command = {program_};
    command.insert(command.end(), target.clang.begin(), target.clang.end());
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-c", assembly, "-o", object});
    LW_ASSIGN(const auto run, run_process(command));
    if (run.exit_code == 0) return Status::ok();
    return Status::internal(fmt::format("{} ended with {}: {}", program_, run.exit_code, run.output));
}

} // namespace

namespace fs = std::filesystem;

namespace {

constexpr const char *structures_file = "structures.json";

// One kernel after the other, from any thread.
class KernelCompiler {
public:
    static Expected<KernelCompiler> create(const KernelCacheOptions &options,
                                           const std::vector<KernelRequest> &requests) {
        LW_ASSIGN(auto kgen, KernelProgram::at(options.kgen));
        LW_ASSIGN(auto scratch, TemporaryFolder::create());
        std::string versions = producer();
        if (!options.structures.empty()) {
            versions += fmt::format(", structures {}", hex_hash(options.structures, 64));
            std::ofstream file(scratch.path() / structures_file, std::ios::binary);
            if (!(file << options.structures << std::flush))
                return scratch.explained(
                    Status::device(fmt::format("{}: cannot be written", scratch.path().string())));
        }
        KernelCompiler compiler(std::move(kgen), std::move(versions), std::move(scratch),
                                !options.structures.empty());
        if (std::any_of(requests.begin(), requests.end(),
                        [](const auto &one) { return by_clang(one.target); })) {
            LW_ASSIGN(auto clang, Clang::find());
            compiler.clang_.emplace(std::move(clang));
        }
        if (auto folder = KernelCacheFolder::open(options.folder))
            compiler.cache_.emplace(*std::move(folder));
        else if (options.no_cache) options.no_cache(folder.status().message());
        return compiler;
    }

    Expected<CompiledKernel> get(const KernelRequest &request, size_t number) const {
        const KernelKey key{request.spec, request.target, versions_of(request)};
        if (auto kernel = cached(key)) return *std::move(kernel);
        LW_ASSIGN(KernelText text, compile(request, number));
        LW_ASSIGN(auto signature, parse_signature(text.signature));
        if (cache_) cache_->write(file_name(key), pack_entry(key, text));
        return CompiledKernel{std::move(text.object), std::move(signature), false, std::move(text.signature)};
    }

private:
    static bool by_clang(const std::string &target) {
        const targets::Target *found = targets::find(target);
        return found && !found->clang.empty();
    }

    KernelCompiler(std::shared_ptr<KernelProgram> kgen, std::string versions, TemporaryFolder scratch,
                   bool structures)
        : kgen_(std::move(kgen)), versions_(std::move(versions)), scratch_(std::move(scratch)),
          structures_(structures) {}

    std::string versions_of(const KernelRequest &request) const {
        const std::string versions =
            fmt::format("{}, kernel {}", versions_, kgen_->versions().of(request.spec, request.target));
        return by_clang(request.target) ? fmt::format("{}, {}", versions, clang_->version()) : versions;
    }

    std::optional<CompiledKernel> cached(const KernelKey &key) const {
        const auto bytes = cache_ ? cache_->read(file_name(key)) : std::nullopt;
        auto text = bytes ? unpack_entry(*bytes, key) : std::nullopt;
        if (!text) return std::nullopt;
        auto signature = parse_signature(text->signature);
        if (!signature) return std::nullopt;
        return CompiledKernel{std::move(text->object), *std::move(signature), true,
                              std::move(text->signature)};
    }

    Expected<KernelText> compile(const KernelRequest &request, size_t number) const {
        fs::path object =
            scratch_.path() / fmt::format("{}{}", number, targets::kernel_suffix(request.target));
        const fs::path signature = scratch_.path() / fmt::format("{}.json", number);
        std::vector<std::string> arguments = {"--spec",       request.spec,   "--target",
                                              request.target, "--symbol",     kernel_symbol(request.spec),
                                              "-o",           object.string()};
        if (structures_)
            arguments.insert(arguments.end(), {"--structures", (scratch_.path() / structures_file).string()});
        LW_ASSIGN(auto run, kgen_->run(arguments));
        if (run.exit_code != 0) {
            if (run.output.empty()) run.output = fmt::format("longwave-kgen ended with {}", run.exit_code);
            return scratch_.explained(
                Status::internal(fmt::format("{} ({} on {})", run.output, request.spec, request.target)));
        }
        if (by_clang(request.target)) {
            const fs::path made = fs::path(object).replace_extension(".o");
            LW_TRY(clang_->compile(*targets::find(request.target), object.string(), made.string()));
            object = made;
        }
        auto object_bytes = read_bytes(object), text = read_bytes(signature);
        if (!object_bytes) return scratch_.explained(object_bytes.status());
        if (!text) return scratch_.explained(text.status());
        return KernelText{std::string(text->begin(), text->end()), *std::move(object_bytes)};
    }

    std::shared_ptr<KernelProgram> kgen_;
    std::string versions_; // of everything else that decides code
    TemporaryFolder scratch_;
    bool structures_; // others than the shipped, in the folder
    std::optional<KernelCacheFolder> cache_;
    std::optional<Clang> clang_; // where a request needs it
};

// Hands the requests out to threads until all are done or one has failed.
class Work {
public:
    Work(const std::vector<KernelRequest> &requests, const KernelCompiler &compiler)
        : requests_(requests), compiler_(compiler), kernels_(requests.size()), failures_(requests.size()) {}

    Expected<std::vector<CompiledKernel>> run(unsigned jobs,
                                              const decltype(KernelCacheOptions::progress) &progress) {
        const size_t wanted = std::min<size_t>(jobs, requests_.size());
        std::vector<std::thread> workers;
        workers.reserve(wanted);
        try {
            while (workers.size() < wanted) workers.emplace_back([this] { work(); });
        } catch (const std::exception &) { // the system gives no more threads, or no memory for one
        }
        if (workers.empty()) work();
        tell(progress);
        for (auto &worker : workers) worker.join();
        for (const auto &failure : failures_)
            if (!failure) return failure;
        return std::move(kernels_);
    }

private:
    void work() {
        for (;;) {
            std::unique_lock lock(mutex_);
            if (next_ == requests_.size() || failed_) return;
            const size_t i = next_++;
            lock.unlock();
            Status failure = get(i);
            lock.lock();
            failed_ = failed_ || !failure;
            failures_[i] = std::move(failure);
            done_++;
            changed_.notify_one();
        }
    }

    Status get(size_t i) try {
        LW_ASSIGN(kernels_[i], compiler_.get(requests_[i], i));
        return {};
    } catch (const std::bad_alloc &) { // would end the program in a thread
        return Status::device("not enough memory to compile the kernels; try fewer at once (--jobs 1)");
    }

    void tell(const decltype(KernelCacheOptions::progress) &progress) {
        std::unique_lock lock(mutex_);
        for (size_t told = 0; done_ < requests_.size() && !failed_;) {
            changed_.wait(lock);
            if (progress && done_ != told) {
                told = done_;
                progress(done_, requests_.size(), requests_[std::min(next_, requests_.size() - 1)].target);
            }
        }
    }

    const std::vector<KernelRequest> &requests_;
    const KernelCompiler &compiler_;
    std::vector<CompiledKernel> kernels_;
    std::vector<Status> failures_;
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t next_ = 0, done_ = 0;
    bool failed_ = false;
};

} // namespace

std::string kernel_symbol(const std::string &spec) { return "k_" + hex_hash(spec, 24); }

Expected<std::vector<CompiledKernel>> compile_kernels(const std::vector<KernelRequest> &requests,
                                                      const KernelCacheOptions &options) {
    LW_ASSIGN(const KernelCompiler compiler, KernelCompiler::create(options, requests));
    return Work(requests, compiler).run(workers_for(options.jobs), options.progress);
}

} // namespace longwave::compiler
