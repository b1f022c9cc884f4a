#include "compiler/codegen/kernel_versions.h"
#include "compiler/base/process.h"
#include "compiler/codegen/kernel_entry.h"
#include "formats/package/json_text.h"
#include "targets/target.h"
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

using Json = nlohmann::json;

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

} // namespace

Expected<KernelVersions> KernelVersions::read(const std::string &kgen) {
    LW_ASSIGN(const auto run, run_process({kgen, "--versions"}));
    if (run.exit_code != 0)
        return Status::device(
            fmt::format("the kernel compiler does not work: {} --versions ended with {}{}{}", kgen,
                        run.exit_code, run.output.empty() ? "" : ": ", run.output));
    package::Problems problems;
    const auto document = package::parse_json(run.output, "its versions", versions_depth, problems);
    KernelVersions versions;
    if (!document || !document->is_object() || !read_versions(*document, "cpu", versions.cpu_) ||
        !read_versions(*document, "gpu", versions.gpu_))
        return Status::device(fmt::format(
            "the kernel compiler does not work: {} --versions printed no versions of kernels", kgen));
    versions.otherwise_ = hex_hash(run.output, version_digits);
    return versions;
}

const std::string &KernelVersions::of(const std::string &spec, const std::string &target) const {
    const auto &list = targets::find_gpu(target) ? gpu_ : cpu_;
    const auto found = list.find(kernel_of(spec));
    return found == list.end() ? otherwise_ : found->second;
}

} // namespace longwave::compiler
