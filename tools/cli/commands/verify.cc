// longwave verify: checks the file of a compiled model, then its golden vectors on every code
// variant that this machine can run.
#include "tools/cli/check/streaming_check.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct VerifyFlags {
    ModelFlags model;
    bool json = false, stream = false;
};

// Also for files that have no code for this machine, and are not opened.
Expected<Signature> check_signature(const VerifyFlags &flags, const ArtifactFile &file) {
    const artifact::Header &header = file.view().header();
    Signature signature = signature_of(header);
    if (signature.state == Signature::State::invalid)
        return Status::check(flags.model.path +
                             ": its signature does not match its key; get the file again from who signed it");
    LW_TRY(flags.model.check_trust(header));
    return signature;
}

Status verify_on_cpu(const VerifyFlags &flags) {
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model.path));
    const auto &plan = file.plan();
    LW_ASSIGN(const auto modules, file.modules());
    LW_ASSIGN(const Signature signature, check_signature(flags, file));
    if (!flags.json)
        print_text(stdout, "file      checks passed (V1-V%u) · %s · %s\ntrust     %s\n",
                   modules.empty() ? 20u : 21u, plan.name()->c_str(), bytes_text(file.size()).c_str(),
                   signature.text.c_str());
    ordered_json variants = ordered_json::array();
    unsigned checked = 0;
    Status failure;
    for (const auto *variant : *plan.variants()) {
        const std::string name = variant->target()->str();
        if (!flags.model.variant.empty() && name != flags.model.variant) continue;
        if (!runs_here(*variant)) {
            variants.push_back({{"variant", name}, {"runs_here", false}});
            if (!flags.json)
                print_text(stdout,
                           "%-9s cannot run on this CPU; run `longwave verify` on a CPU that has it\n",
                           name.c_str());
            continue;
        }
        ModelFlags this_one = flags.model;
        this_one.variant = name;
        LW_ASSIGN(const Model model, Model::open(this_one));
        double worst = 0;
        Status golden = status_of(lw_model_verify(model.handle.get(), &worst), name);
        if (!golden && golden.fault() != Fault::check) return golden;
        if (!golden && failure) failure = golden;
        const bool some = plan.golden() && plan.golden()->size() > 0;
        ordered_json entry = {{"variant", name},
                              {"runs_here", true},
                              {"golden", some ? ordered_json(static_cast<bool>(golden)) : ordered_json()},
                              {"worst_of_limit", some ? ordered_json(worst) : ordered_json()}};
        std::string text =
            some ? format("golden vectors within %.2f of their limits%s", worst, golden ? "" : " -- FAILED")
                 : "no golden vectors in the file (compiled with --no-golden): nothing was recomputed";
        if (flags.stream && model.info.has_stream) {
            LW_ASSIGN(const StreamCheck check, check_stream(model));
            entry["stream"] = to_json(check);
            text += "\n          stream " + to_text(check);
            if (!check.holds() && failure)
                failure = Status::check(name + ": the stream does not equal the offline run");
        }
        variants.push_back(std::move(entry));
        if (!flags.json) print_text(stdout, "%-9s %s\n", name.c_str(), text.c_str());
        checked++;
    }
    if (variants.empty())
        return Status::usage(flags.model.path + ": the file has no code variant " + flags.model.variant);
    if (flags.json)
        print_text(stdout, "%s\n",
                   json_line({{"model", plan.name()->str()},
                              {"rules", true},
                              {"signature", signature.text},
                              {"ok", static_cast<bool>(failure)},
                              {"variants", variants}})
                       .c_str());
    if (checked == 0 && failure)
        return Status::device(flags.model.path + ": no code variant runs on this CPU; nothing was checked");
    return failure;
}

// Checks the golden vectors of the entries for the device, and whether its stream equals its
// offline run.
Status verify_on_device(const VerifyFlags &flags) {
    ModelFlags model_flags = flags.model;
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model.path));
    LW_ASSIGN(const Signature signature, check_signature(flags, file));
    model_flags.checked = true; // below, whatever earlier runs have recorded
    LW_ASSIGN(const Model model, Model::open(model_flags));
    if (!model.device) { // auto chose the CPU
        model_flags.device = "cpu";
        return verify_on_cpu({model_flags, flags.json, flags.stream});
    }
    double worst = 0;
    Status checked = verify_device(model.handle.get(), true, &worst);
    if (!checked && worst <= 1) return checked; // the device gave no result
    Status failure = checked ? Status() : Status::check(checked.message());
    ordered_json entry = {{"model", model.info.name},         {"device", name_of(model.device.get())},
                          {"ok", static_cast<bool>(failure)}, {"signature", signature.text},
                          {"worst_of_limit", worst},          {"limit", model.info.error_limit}};
    std::string text = "trust     " + signature.text + "\n" + name_of(model.device.get()) +
                       format("   golden vectors within %.2f of their limits (%.1e of a peak)%s", worst,
                              static_cast<double>(model.info.error_limit), failure ? "" : " -- FAILED");
    if (flags.stream && failure && model.info.has_stream) {
        LW_ASSIGN(const StreamCheck check, check_stream(model));
        entry["stream"] = to_json(check);
        text += "\n          stream " + to_text(check);
        if (!check.holds())
            failure =
                Status::check(name_of(model.device.get()) + ": the stream does not equal the offline run");
    } else if (flags.stream && failure) {
        entry["stream"] = nullptr;
        text += "\n          no stream entries for a GPU";
    }
    entry["ok"] = static_cast<bool>(failure);
    print_text(stdout, "%s\n", flags.json ? json_line(entry).c_str() : text.c_str());
    return failure;
}

Status verify(const VerifyFlags &flags) {
    return flags.model.device == "cpu" ? verify_on_cpu(flags) : verify_on_device(flags);
}

} // namespace

Command add_verify(CommandLine &program) {
    auto flags = std::make_shared<VerifyFlags>();
    CommandLine *app = program.add_subcommand(
        "verify", "Check the file of a compiled model and recompute its golden vectors on this machine.");
    flags->model.add(*app);
    add_device_flags(*app, flags->model);
    app->add_flag("--no-self-test", flags->model.use.no_self_test,
                  "Leave out the test of the device's arithmetic, for drivers that run without their GPU");
    app->add_flag("--stream", flags->stream,
                  "Also check that the stream equals the offline run on random input");
    app->add_flag("--json", flags->json, "Print one JSON object");
    return {app, [flags] { return verify(*flags); }};
}

} // namespace longwave::cli
