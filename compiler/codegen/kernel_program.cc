#include "compiler/codegen/kernel_program.h"
#include "compiler/codegen/kernel_entry.h"
#include "formats/package/file_bytes.h"
#include "formats/package/json_text.h"
#include "targets/target.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace longwave::compiler {

namespace {

using Json = nlohmann::json;

constexpr uint64_t max_program = 1 << 30; // bytes
constexpr size_t versions_depth = 4;
constexpr size_t version_digits = 32;

bool read_versions(const Json &document, const char *kind, std::map<std::string, std::string> &to) {
    const auto list = document.find(kind);
    if (list == document.end() || !list->is_object()) return false;
    for (const auto &[kernel, version] : list->items()) {
        if (!version.is_string()) return false;
        to.emplace(kernel, version.get<std::string>());
    }
    return true;
}

// Empty for a text that is not a specification.
std::string kernel_of(const std::string &spec) {
    const Json document = Json::parse(spec, nullptr, false);
    const auto name = document.is_object() ? document.find("kernel") : document.end();
    return name != document.end() && name->is_string() ? name->get<std::string>() : "";
}

// What changes when another program is put in the place of a file.
auto identity(const struct stat &file) {
    return std::tuple(file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

} // namespace

std::optional<KernelVersions> KernelVersions::read(const std::string &text) {
    package::Problems problems;
    const auto document = package::parse_json(text, "its versions", versions_depth, problems);
    KernelVersions versions;
    if (!document || !document->is_object() || !read_versions(*document, "cpu", versions.cpu_) ||
        !read_versions(*document, "gpu", versions.gpu_))
        return std::nullopt;
    versions.all_ = hex_hash(text, version_digits);
    return versions;
}

const std::string &KernelVersions::of(const std::string &spec, const std::string &target) const {
    const auto &list = targets::find_gpu(target) ? gpu_ : cpu_;
    const auto found = list.find(kernel_of(spec));
    return found == list.end() ? all_ : found->second;
}

Expected<std::shared_ptr<KernelProgram>> KernelProgram::at(const std::string &path) {
    const auto none = [](const std::string &why) {
        return Status::device(fmt::format(
            "there is no kernel compiler (longwave-kgen, which is built next to longwave): {}", why));
    };
    if (const auto file = package::InputFile::open(path, max_program); !file)
        return none(file.status().message());
    struct stat file;
    if (faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0 || stat(path.c_str(), &file) != 0)
        return none(fmt::format("{}: cannot be run: {}", path, std::strerror(errno)));
    // A name without a folder is looked up in PATH at each start: all starts must find one program.
    std::error_code error;
    const std::string absolute = std::filesystem::absolute(path, error).string();
    if (error) return Status::device(fmt::format("{}: {}", path, error.message()));

    static std::mutex mutex;
    static std::map<std::string, std::pair<decltype(identity(file)), std::shared_ptr<KernelProgram>>> known;
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(absolute);
        found != known.end() && found->second.first == identity(file))
        return found->second.second;
    const std::shared_ptr<KernelProgram> program(new KernelProgram(absolute));
    LW_ASSIGN(const ProcessResult run, program->run({"--versions"}));
    if (run.exit_code != 0)
        return Status::device(
            fmt::format("the kernel compiler does not work: {} --versions ended with {}{}{}", absolute,
                        run.exit_code, run.output.empty() ? "" : ": ", run.output));
    auto versions = KernelVersions::read(run.output);
    if (!versions)
        return Status::device(fmt::format(
            "the kernel compiler does not work: {} --versions printed no versions of kernels", absolute));
    program->versions_ = *std::move(versions);
    known.insert_or_assign(absolute, std::pair(identity(file), program));
    return program;
}

// A program that does not stay, or that the system ended, is started for the one request: that gives its
// own words.
Expected<ProcessResult> KernelProgram::run(const std::vector<std::string> &arguments) {
    std::unique_ptr<StayingProgram> staying;
    std::unique_lock lock(mutex_);
    const bool stays = stays_;
    if (!idle_.empty()) {
        staying = std::move(idle_.back());
        idle_.pop_back();
    }
    lock.unlock();
    if (stays && !staying)
        if (auto started = StayingProgram::start({path_, "--stay"})) staying = *std::move(started);
    if (staying) {
        if (auto result = staying->ask(arguments)) {
            lock.lock();
            idle_.push_back(std::move(staying));
            return *std::move(result);
        }
        lock.lock();
        stays_ = false;
        lock.unlock();
    }
    std::vector<std::string> command = {path_};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_process(command);
}

} // namespace longwave::compiler
