#include "compiler/codegen/capabilities.h"
#include "compiler/artifact/version.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/codegen/kernel_cache_folder.h"
#include "compiler/codegen/kernel_entry.h"
#include "compiler/codegen/kernel_program.h"
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace longwave::compiler {

namespace {

using nlohmann::json;

Status unexpected(const std::string &what) {
    return Status::internal("longwave-kgen --query: unexpected answer: " + what);
}

// One answer of schedules/halide/query.h.
Status read_answer(Capabilities &known, const std::string &spec, const json &answer) {
    const json supported = answer.is_object() ? answer.value("supported", json()) : json();
    if (!supported.is_boolean()) return unexpected(answer.dump().substr(0, 100));
    if (!supported.get<bool>()) {
        const json reason = answer.value("reason", json());
        if (!reason.is_string()) return unexpected("no reason for " + spec);
        known.refused[spec] = reason.get<std::string>();
        return Status::ok();
    }
    LW_ASSIGN(known.signatures[spec], parse_signature(answer.value("signature", json()).dump()));
    return Status::ok();
}

// Answers of this program to earlier compiles, in the folder of the kernel cache.
class AnswerCache {
public:
    AnswerCache(const KernelCacheOptions &options, const KernelProgram &program, std::string target)
        : target_("query " + std::move(target)),
          versions_(fmt::format("{}, longwave-kgen {}", producer(), program.versions().all())) {
        if (auto folder = KernelCacheFolder::open(options.folder)) folder_.emplace(*std::move(folder));
    }

    // Null: there is none.
    json find(const std::string &spec) const {
        const KernelKey key{spec, target_, versions_};
        const auto bytes = folder_ ? folder_->read(file_name(key)) : std::nullopt;
        const auto text = bytes ? unpack_entry(*bytes, key) : std::nullopt;
        const json answer = text ? json::parse(text->signature, nullptr, false) : json();
        return answer.is_discarded() ? json() : answer;
    }
    void keep(const std::string &spec, const json &answer) const {
        const KernelKey key{spec, target_, versions_};
        if (folder_)
            folder_->write(file_name(key), pack_entry(key, {.signature = answer.dump(), .object = {}}));
    }

private:
    std::string target_, versions_;
    std::optional<KernelCacheFolder> folder_;
};

// Runs the kernel compiler once for all requests.
Expected<json> ask(const json &requests, KernelProgram &kgen) {
    LW_ASSIGN(const TemporaryFolder scratch, TemporaryFolder::create());
    const std::filesystem::path questions = scratch.path() / "query.json",
                                answers = scratch.path() / "answers.json";
    std::ofstream file(questions, std::ios::binary);
    if (!(file << requests.dump() << std::flush))
        return scratch.explained(Status::device(fmt::format("{}: cannot be written", questions.string())));
    LW_ASSIGN(const ProcessResult run, kgen.run({"--query", questions.string(), "-o", answers.string()}));
    if (run.exit_code != 0)
        return scratch.explained(Status::internal(
            run.output.empty() ? fmt::format("longwave-kgen --query ended with {}", run.exit_code)
                               : run.output));
    const auto bytes = read_bytes(answers);
    if (!bytes) return scratch.explained(bytes.status());
    json all = json::parse(bytes->begin(), bytes->end(), nullptr, false);
    if (!all.is_array() || all.size() != requests.size()) return unexpected("not one answer per request");
    return all;
}

} // namespace

std::vector<std::string> kernels_of(const devices::Traits &device, const std::vector<EntryPlan> &entries) {
    std::set<std::string> specs;
    each_call(entries, device, [&](const EntryPlan &, const Step &step) { specs.insert(step.spec); });
    return {specs.begin(), specs.end()};
}

Status query_capabilities(Capabilities &known, const std::vector<std::string> &specs,
                          const devices::Traits &device, const KernelCacheOptions &options) {
    if (std::all_of(specs.begin(), specs.end(), [&](const auto &spec) { return known.knows(spec); }))
        return Status::ok();
    LW_ASSIGN(const std::shared_ptr<KernelProgram> program, KernelProgram::at(options.kgen));
    const AnswerCache cache(options, *program, device.target->name);
    std::vector<std::string> asked;
    json requests = json::array();
    for (const std::string &spec : specs) {
        if (known.knows(spec)) continue;
        if (const json answer = cache.find(spec); !answer.is_null() && read_answer(known, spec, answer))
            continue;
        asked.push_back(spec);
        requests.push_back({{"spec", json::parse(spec)}, {"target", device.target->name}});
    }
    if (asked.empty()) return Status::ok();
    LW_ASSIGN(const json answers, ask(requests, *program));
    for (size_t i = 0; i < asked.size(); i++) {
        LW_TRY(read_answer(known, asked[i], answers[i]));
        cache.keep(asked[i], answers[i]);
    }
    return Status::ok();
}

std::string refusal_of(const Step &step, const devices::Traits &device, const Capabilities &known) {
    const auto found = known.refused.find(step.spec);
    if (found != known.refused.end()) return found->second;
    return step.tiles > 1 && !device.tiles ? "it is computed in several calls" : "";
}

} // namespace longwave::compiler
