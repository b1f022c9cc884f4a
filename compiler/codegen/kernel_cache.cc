#include "compiler/codegen/kernel_cache.h"
#include "compiler/artifact/version.h"
#include "compiler/base/parallel.h"
#include "compiler/base/process.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/codegen/clang.h"
#include "compiler/codegen/kernel_cache_folder.h"
#include "compiler/codegen/kernel_entry.h"
#include "compiler/codegen/kernel_signature.h"
#include "compiler/codegen/kernel_versions.h"
#include "formats/package/file_bytes.h"
#include "targets/target.h"
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <unistd.h>

namespace longwave::compiler {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t max_program = 1 << 30; // bytes
constexpr const char *structures_file = "structures.json";

// One kernel after the other, from any thread.
class KernelCompiler {
public:
    static Expected<KernelCompiler> create(const KernelCacheOptions &options,
                                           const std::vector<KernelRequest> &requests) {
        const auto none = [](const std::string &why) {
            return Status::device(fmt::format(
                "there is no kernel compiler (longwave-kgen, which is built next to longwave): {}", why));
        };
        if (const auto file = package::InputFile::open(options.kgen, max_program); !file)
            return none(file.status().message());
        if (faccessat(AT_FDCWD, options.kgen.c_str(), X_OK, AT_EACCESS) != 0)
            return none(fmt::format("{}: cannot be run: {}", options.kgen, std::strerror(errno)));
        // A name without a folder is looked up in PATH at each start: all starts must find one
        // program.
        std::error_code error;
        const fs::path kgen = fs::absolute(options.kgen, error);
        if (error) return Status::device(fmt::format("{}: {}", options.kgen, error.message()));
        auto kernels = KernelVersions::read(kgen.string());
        if (!kernels) return kernels.status();
        LW_ASSIGN(auto scratch, TemporaryFolder::create());
        std::string versions = producer();
        if (!options.structures.empty()) {
            versions += fmt::format(", structures {}", hex_hash(options.structures, 64));
            std::ofstream file(scratch.path() / structures_file, std::ios::binary);
            if (!(file << options.structures << std::flush))
                return scratch.explained(
                    Status::device(fmt::format("{}: cannot be written", scratch.path().string())));
        }
        KernelCompiler compiler(kgen.string(), *std::move(kernels), std::move(versions), std::move(scratch),
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

    KernelCompiler(std::string kgen, KernelVersions kernels, std::string versions, TemporaryFolder scratch,
                   bool structures)
        : kgen_(std::move(kgen)), kernels_(std::move(kernels)), versions_(std::move(versions)),
          scratch_(std::move(scratch)), structures_(structures) {}

    std::string versions_of(const KernelRequest &request) const {
        const std::string versions =
            fmt::format("{}, kernel {}", versions_, kernels_.of(request.spec, request.target));
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
        std::vector<std::string> arguments = {kgen_,
                                              "--spec",
                                              request.spec,
                                              "--target",
                                              request.target,
                                              "--symbol",
                                              kernel_symbol(request.spec),
                                              "-o",
                                              object.string()};
        if (structures_)
            arguments.insert(arguments.end(), {"--structures", (scratch_.path() / structures_file).string()});
        LW_ASSIGN(auto run, run_process(arguments));
        if (run.exit_code != 0) {
            if (run.output.empty()) run.output = fmt::format("{} ended with {}", kgen_, run.exit_code);
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

    std::string kgen_;
    KernelVersions kernels_;
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
