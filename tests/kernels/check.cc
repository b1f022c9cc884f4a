#include "tests/kernels/check.h"

#include "compiler/codegen/kernel_entry.h"
#include "compiler/codegen/kernel_program.h"
#include "tests/kernels/vulkan.h"
#include "tests/support/every_case.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace longwave::test {

const targets::Target *gpu_under_test() {
    const char *name = std::getenv("LONGWAVE_KERNELS_ON");
    if (!name) return nullptr;
    const targets::Target *target = targets::find_gpu(name);
    REQUIRE_MESSAGE(target, "LONGWAVE_KERNELS_ON names no gpu: ", name);
    std::string why;
    if (VulkanDevice::get(why)) return target;
    fmt::print("SKIPPED: {}\n", why);
    std::fflush(stdout);
    std::_Exit(77);
}

Expected<compiler::ProcessResult> run_kgen(const std::vector<std::string> &arguments) {
    LW_ASSIGN(const auto program, compiler::KernelProgram::at(find_kgen()));
    return program->run(arguments);
}

bool few_on_a_gpu() { return gpu_under_test() && !every_case(); }

nlohmann::json query_kernels(const std::vector<Request> &requests) {
    using nlohmann::json;
    std::string name = (std::filesystem::temp_directory_path() / "longwave-query-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    json questions = json::array();
    for (const Request &one : requests)
        questions.push_back({{"spec", json::parse(one.spec)}, {"target", one.target}});
    std::ofstream(name + "/in.json") << questions.dump();
    const auto run = run_kgen({"--query", name + "/in.json", "-o", name + "/out.json"});
    json answers;
    if (run && run->exit_code == 0) {
        std::ifstream file(name + "/out.json");
        answers = json::parse(file);
    }
    std::filesystem::remove_all(name);
    REQUIRE_MESSAGE(run, run.status().message());
    REQUIRE_MESSAGE(run->exit_code == 0, run->output);
    REQUIRE(answers.size() == requests.size());
    return answers;
}

// A query says what compiling finds: supported or not, and the same arguments.
static void check_answer(const nlohmann::json &answer,
                         const Expected<std::vector<kernels::Kernel>> &variants) {
    INFO("query: ", answer.dump());
    REQUIRE(answer.at("supported") == static_cast<bool>(variants));
    if (!variants) {
        CHECK(variants.status().message().find(answer.at("reason").get<std::string>()) != std::string::npos);
        return;
    }
    const auto &args = variants->front().signature().args;
    const nlohmann::json &asked = answer.at("signature").at("args");
    REQUIRE(asked.size() == args.size());
    for (size_t i = 0; i < args.size(); i++) {
        CHECK(asked[i].at("name") == args[i].name);
        REQUIRE(asked[i].at("dims").size() == args[i].dims.size());
        for (size_t d = 0; d < args[i].dims.size(); d++)
            CHECK(asked[i].at("dims")[d] == nlohmann::json{args[i].dims[d].extent, args[i].dims[d].stride});
    }
}

// Both signatures, so that one plan is for both devices.
static void same_arguments(const schedules::Signature &gpu, const schedules::Signature &cpu) {
    const auto &ours = gpu.args, &theirs = cpu.args;
    REQUIRE(ours.size() == theirs.size());
    for (size_t i = 0; i < ours.size(); i++) {
        INFO("argument ", theirs[i].name);
        CHECK(ours[i].name == theirs[i].name);
        CHECK(ours[i].kind == theirs[i].kind);
        CHECK(ours[i].elem == theirs[i].elem);
        CHECK(ours[i].high == theirs[i].high);
        CHECK(ours[i].multiple == theirs[i].multiple);
        REQUIRE(ours[i].dims.size() == theirs[i].dims.size());
        for (size_t d = 0; d < ours[i].dims.size(); d++) {
            CHECK(ours[i].dims[d].extent == theirs[i].dims[d].extent);
            CHECK(ours[i].dims[d].stride == theirs[i].dims[d].stride);
        }
    }
}

void run_on_gpu(const std::vector<Case> &cases, const targets::Target &gpu) {
    std::string without;
    std::vector<Request> requests;
    for (const Case &one : cases) requests.push_back({one.spec, gpu.name});
    for (const Case &one : cases) requests.push_back({one.spec, "x86-64-v2"});
    const nlohmann::json answers = query_kernels(requests);
    for (size_t i = 0; i < cases.size(); i++) {
        INFO(gpu.name, " ", cases[i].spec);
        auto variants = load_gpu_kernels(cases[i].spec, gpu, find_kgen());
        check_answer(answers[i], variants);
        if (!variants && variants.status().fault() == Fault::usage) {
            if (!cases[i].prepares) {
                without += fmt::format("\n    {}", cases[i].spec);
                continue;
            }
            auto kernels = load_kernels({cases[i].spec}, *targets::find("x86-64-v2"), find_kgen());
            REQUIRE_MESSAGE(kernels, kernels.status().message());
            (*kernels)[0].fill_inputs(static_cast<uint32_t>(i + 1));
            cases[i].check((*kernels)[0]);
            continue;
        }
        REQUIRE_MESSAGE(variants, variants.status().message());
        if (!cases[i].gpu_only) {
            const nlohmann::json &cpu = answers[cases.size() + i];
            REQUIRE_MESSAGE(cpu.at("supported") == true, cpu.dump());
            const auto signature = compiler::parse_signature(cpu.at("signature").dump());
            REQUIRE_MESSAGE(signature, signature.status().message());
            same_arguments(variants->front().signature(), *signature);
        }
        for (size_t v = 0; v < variants->size(); v++) {
            INFO("variant ", v);
            same_arguments((*variants)[v].signature(), variants->front().signature());
            (*variants)[v].fill_inputs(static_cast<uint32_t>(i + 1));
            cases[i].check((*variants)[v]);
        }
    }
    if (!without.empty()) MESSAGE(gpu.name, " has no schedule for", without);
}

static bool runs_on(size_t level, size_t levels, size_t number, size_t cases, size_t together) {
    const size_t group = number / together, last = (cases - 1) / together;
    return group == 0 || group == last || group % levels == level || every_case();
}

void run_everywhere(const std::vector<Case> &cases, const Levels &on) {
    if (const targets::Target *gpu = gpu_under_test()) return run_on_gpu(cases, *gpu);
    std::vector<targets::Target> levels;
    for (const targets::Target &target : targets::all())
        if ((!target.by_name || on.named) && host_runs(target)) levels.push_back(target);
    for (size_t level = 0; level < levels.size(); level++) {
        std::vector<size_t> chosen;
        std::vector<std::string> specs;
        for (size_t i = 0; i < cases.size(); i++) {
            if (!runs_on(level, levels.size(), i, cases.size(), on.together)) continue;
            chosen.push_back(i);
            specs.push_back(cases[i].spec);
        }
        auto kernels = load_kernels(specs, levels[level], find_kgen());
        REQUIRE_MESSAGE(kernels, kernels.status().message());
        for (size_t n = 0; n < chosen.size(); n++) {
            const Case &one = cases[chosen[n]];
            INFO(levels[level].name, " ", one.spec);
            (*kernels)[n].fill_inputs(static_cast<uint32_t>(chosen[n] + 1));
            one.check((*kernels)[n]);
            compared(one.spec);
        }
    }
}

} // namespace longwave::test
