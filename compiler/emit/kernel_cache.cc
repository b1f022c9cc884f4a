#include "compiler/emit/kernel_cache.h"
#include "compiler/emit/process.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/write.h"
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace longwave::compiler {

namespace fs = std::filesystem;

namespace {

std::string hex_hash(const std::string &text, size_t digits) {
    uint8_t hash[artifact::hash_bytes];
    artifact::hash(text.data(), text.size(), hash);
    std::string hex;
    for (size_t i = 0; i < digits / 2; i++) hex += fmt::format("{:02x}", hash[i]);
    return hex;
}

fs::path cache_folder(const std::string &given) {
    if (!given.empty()) return given;
    if (const char *base = std::getenv("XDG_CACHE_HOME"); base && *base) return fs::path(base) / "longwave" / "kernels";
    const char *home = std::getenv("HOME");
    return fs::path(home && *home ? home : "/tmp") / ".cache" / "longwave" / "kernels";
}

// {"args":[{"name":"x","kind":"input","elem":"f32","dims":[[96,1],[4,96]]}, …],"scratch_bytes":0}
schedules::Signature parse_signature(const std::string &text) {
    using namespace schedules;
    static const std::map<std::string, ArgKind> kinds = {{"input", ArgKind::input}, {"output", ArgKind::output}, {"inout", ArgKind::inout}, {"scalar", ArgKind::scalar}};
    static const std::map<std::string, Elem> elems = {{"f32", Elem::f32}, {"i32", Elem::i32}, {"f64", Elem::f64}};
    auto json = nlohmann::json::parse(text);
    Signature signature{.scratch_bytes = json.at("scratch_bytes")};
    for (const auto &entry : json.at("args")) {
        KernelArg arg{.name = entry.at("name"), .kind = kinds.at(entry.at("kind")), .elem = elems.at(entry.at("elem"))};
        if (entry.contains("dims"))
            for (const auto &dim : entry.at("dims")) arg.dims.push_back({dim.at(0), dim.at(1)});
        if (arg.kind == ArgKind::scalar) {
            arg.high = entry.at("high");
            arg.multiple = entry.at("multiple");
        }
        signature.args.push_back(std::move(arg));
    }
    return signature;
}

// A cache entry: hash of the rest, length of the signature, signature, object.
constexpr size_t entry_header = artifact::hash_bytes + sizeof(uint64_t);

std::vector<uint8_t> pack_entry(const std::string &signature, const std::vector<uint8_t> &object) {
    std::vector<uint8_t> bytes(entry_header);
    uint64_t length = signature.size();
    std::memcpy(bytes.data() + artifact::hash_bytes, &length, sizeof length);
    bytes.insert(bytes.end(), signature.begin(), signature.end());
    bytes.insert(bytes.end(), object.begin(), object.end());
    uint8_t hash[artifact::hash_bytes];
    artifact::hash(bytes.data() + artifact::hash_bytes, bytes.size() - artifact::hash_bytes, hash);
    std::memcpy(bytes.data(), hash, sizeof hash);
    return bytes;
}

// False for anything but an entry that is whole.
bool unpack_entry(const std::vector<uint8_t> &bytes, CompiledKernel *kernel) {
    if (bytes.size() < entry_header) return false;
    uint8_t hash[artifact::hash_bytes];
    artifact::hash(bytes.data() + artifact::hash_bytes, bytes.size() - artifact::hash_bytes, hash);
    uint64_t length;
    std::memcpy(&length, bytes.data() + artifact::hash_bytes, sizeof length);
    if (!artifact::equal_hash(hash, bytes.data()) || length > bytes.size() - entry_header) return false;
    kernel->signature = parse_signature(std::string(bytes.begin() + entry_header, bytes.begin() + static_cast<ptrdiff_t>(entry_header + length)));
    kernel->object.assign(bytes.begin() + static_cast<ptrdiff_t>(entry_header + length), bytes.end());
    kernel->cached = true;
    return true;
}

class KernelCompiler {
public:
    KernelCompiler(const KernelCacheOptions &options, fs::path folder, std::string version, fs::path scratch)
        : options_(options), folder_(std::move(folder)), version_(std::move(version)), scratch_(std::move(scratch)) {}

    Expected<CompiledKernel> get(const KernelRequest &request, size_t number) const {
        fs::path entry = folder_ / hex_hash(request.spec + '\n' + request.target + '\n' + version_, 48);
        CompiledKernel kernel;
        if (auto bytes = read_bytes(entry); bytes && unpack_entry(*bytes, &kernel)) return kernel;
        fs::path object = scratch_ / fmt::format("{}.o", number), signature = scratch_ / fmt::format("{}.json", number);
        LW_ASSIGN(auto run, run_process({options_.kgen, "--spec", request.spec, "--target", request.target, "--symbol", kernel_symbol(request.spec),
                                         "-o", object.string()},
                                        scratch_));
        if (run.exit_code != 0)
            return Status::internal(fmt::format("{} ({} on {})",
                                                run.output.empty() ? fmt::format("longwave-kgen ended with {}", run.exit_code) : run.output,
                                                request.spec, request.target));
        LW_ASSIGN(kernel.object, read_bytes(object));
        LW_ASSIGN(auto text, read_bytes(signature));
        std::string json(text.begin(), text.end());
        kernel.signature = parse_signature(json);
        auto bytes = pack_entry(json, kernel.object);
        (void)artifact::write_file_atomically(entry.string(), bytes); // a cache that cannot be written only costs time
        return kernel;
    }

private:
    const KernelCacheOptions &options_;
    const fs::path folder_;
    const std::string version_;
    const fs::path scratch_;
};

} // namespace

std::string kernel_symbol(const std::string &spec) { return "k_" + hex_hash(spec, 24); }

Expected<std::vector<CompiledKernel>> compile_kernels(const std::vector<KernelRequest> &requests, const KernelCacheOptions &options) {
    auto program = read_bytes(options.kgen);
    if (!program) return Status::device(fmt::format("the kernel compiler is missing: {} (it is built beside longwave)", program.status().message()));
    std::string version = hex_hash(std::string(program->begin(), program->end()), 48);
    fs::path folder = cache_folder(options.folder);
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    LW_ASSIGN(auto scratch, TemporaryFolder::create());
    KernelCompiler compiler(options, folder, version, scratch.path());

    std::vector<CompiledKernel> kernels(requests.size());
    std::vector<Status> failures(requests.size());
    std::mutex mutex;
    std::condition_variable changed;
    size_t next = 0, done = 0;
    bool failed = false;
    auto work = [&] {
        for (;;) {
            std::unique_lock lock(mutex);
            if (next == requests.size() || failed) return;
            size_t i = next++;
            lock.unlock();
            auto kernel = compiler.get(requests[i], i);
            lock.lock();
            if (kernel) kernels[i] = *std::move(kernel);
            else {
                failures[i] = kernel.status();
                failed = true;
            }
            done++;
            changed.notify_one();
        }
    };
    unsigned jobs = options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < std::min<size_t>(jobs, requests.size()); i++) workers.emplace_back(work);
    {
        std::unique_lock lock(mutex);
        for (size_t told = 0; done < requests.size() && !failed;) {
            changed.wait(lock);
            if (options.progress && done != told) {
                told = done;
                options.progress(done, requests.size(), requests[std::min(next, requests.size() - 1)].target);
            }
        }
    }
    for (auto &worker : workers) worker.join();
    for (const auto &failure : failures)
        if (!failure) return failure;
    return kernels;
}

} // namespace longwave::compiler
