#include "tools/cli/model/description.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/modules_generated.h"
#include "formats/artifact/recipe.h"
#include "formats/artifact/recipe_schema.h"
#include "formats/base/elem.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <algorithm>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

std::string_view view_of(const flatbuffers::String *text) {
    return text ? text->string_view() : std::string_view();
}
std::string text_of(const flatbuffers::String *text) { return std::string(view_of(text)); }

const char *kind_name(fb::EntryKind kind) {
    return kind == fb::EntryKind::prepare ? "prepare" : kind == fb::EntryKind::run ? "run" : "stream";
}
const char *kind_name(fb::InputKind kind) {
    return kind == fb::InputKind::audio ? "audio" : kind == fb::InputKind::features ? "features" : "tokens";
}
template <class T> uint32_t size_of(const flatbuffers::Vector<T> *vector) {
    return vector ? vector->size() : 0;
}

ordered_json describe(const fb::Plan &plan, const fb::Entry &entry, bool steps) {
    ordered_json json = {{"kind", kind_name(entry.kind())},
                         {"device", entry.device() == fb::DeviceKind::gpu ? "gpu" : "cpu"},
                         {"mixed", artifact::mixed(entry)},
                         {"block", entry.block()},
                         {"steps", size_of(entry.steps())},
                         {"rebuild_steps", size_of(entry.rebuild())},
                         {"cache_bytes", entry.cache_bytes()},
                         {"arena_bytes", entry.arena_bytes()},
                         {"period", entry.period()}};
    if (entry.least() > 0) json["fixed_by"] = text_of(entry.fixed());
    json["outputs"] = ordered_json::array();
    if (entry.outputs())
        for (const auto *port : *entry.outputs())
            list_in(json, "outputs")
                .push_back({{"name", text_of(port->name())},
                            {"width", port->width()},
                            {"clock", {port->clock_num(), port->clock_den()}},
                            {"delay", port->delay()}});
    if (entry.outputs())
        for (uint32_t i = 0; i < size_of(entry.outputs()); i++) {
            const auto *port = entry.outputs()->Get(i);
            if (!port->sample_rate()) continue;
            json["outputs"][i]["sample_rate"] = port->sample_rate();
            json["outputs"][i]["lag"] = port->lag();
        }
    if (!steps) return json;
    json["plan"] = ordered_json::array();
    for (const auto *step : *entry.steps())
        list_in(json, "plan")
            .push_back({{"name", text_of(step->name())},
                        {"kernel", step->kind() == fb::StepKind::call
                                       ? text_of(plan.kernels()->Get(step->kernel())->spec())
                                   : artifact::moves(*step) ? "move"
                                                            : "clear"},
                        {"device", entry.device() == fb::DeviceKind::gpu && !step->cpu() ? "gpu" : "cpu"},
                        {"period", step->period()},
                        {"phase", step->phase()},
                        {"tiles", step->tiles()}});
    return json;
}

const char *kind_name(fb::StateKind kind) {
    return kind == fb::StateKind::history ? "history" : kind == fb::StateKind::carry ? "carry" : "spectra";
}

// The fields of the stream state.
ordered_json state_of(const fb::Plan &plan) {
    ordered_json list = ordered_json::array();
    if (!plan.state()) return list;
    for (const auto *field : *plan.state()) {
        const Elem elem = artifact::elem_of(field->elem());
        uint64_t bytes = bytes_of(elem);
        ordered_json dims = ordered_json::array();
        for (const uint32_t extent : *field->dims()) {
            bytes *= extent;
            dims.push_back(extent);
        }
        list.push_back({{"layer", text_of(field->layer())},
                        {"name", text_of(field->name())},
                        {"kind", kind_name(field->kind())},
                        {"elem", longwave::name_of(elem)},
                        {"dims", dims},
                        {"bytes", bytes}});
    }
    return list;
}

// What the file is made of, in its order: the bytes of all parts are those of the file.
ordered_json parts_of(const ArtifactFile &file) {
    const fb::Plan &plan = file.plan();
    ordered_json list = ordered_json::array();
    uint64_t rest = file.size();
    for (uint32_t i = 0; i < size_of(plan.segments()); i++) {
        const uint64_t bytes = file.view().segment(i).size;
        list.push_back({{"name", part_name(plan, i)}, {"bytes", bytes}});
        rest -= bytes;
    }
    list.insert(list.begin(), ordered_json{{"name", "header and plan"}, {"bytes", rest}});
    return list;
}

// Of a file that takes other weights (longwave pack): how many tensors it has, and what made its golden
// vectors.
Expected<ordered_json> recipe_of(const ArtifactFile &file) {
    ordered_json json = ordered_json::object();
    for (uint32_t i = 0; i < file.plan().segments()->size(); i++) {
        if (file.plan().segments()->Get(i)->kind() != fb::SegmentKind::recipe) continue;
        const fb::Recipe *recipe = nullptr;
        if (const artifact::Broken broken =
                artifact::open_recipe(file.plan(), file.view().segment(i), &recipe))
            return Status::input(format("rule V%u: %s %ju, %ju", unsigned{broken.rule}, broken.text,
                                        uintmax_t{broken.a}, uintmax_t{broken.b}));
        json = {{"tensors", recipe->tensors()->size()},
                {"copies", recipe->copies()->size()},
                {"golden_from",
                 recipe->golden_from() == fb::GoldenFrom::run ? "offline run" : "float64 reference"}};
    }
    return json;
}

// The SPIR-V modules of each GPU target.
Expected<ordered_json> modules_of(const ArtifactFile &file) {
    LW_ASSIGN(const std::vector<artifact::ModulesView> all, file.modules());
    ordered_json list = ordered_json::array();
    for (const artifact::ModulesView &modules : all) {
        uint64_t shared = 0, bytes = 0;
        for (const auto *module : *modules.manifest().modules()) {
            shared = std::max<uint64_t>(shared, module->shared_bytes());
            bytes += module->size();
        }
        list.push_back({{"target", modules.manifest().target()->str()},
                        {"modules", modules.manifest().modules()->size()},
                        {"bytes", bytes},
                        {"shared_bytes", shared}});
    }
    return list;
}

} // namespace

std::string part_name(const fb::Plan &plan, uint32_t segment) {
    switch (plan.segments()->Get(segment)->kind()) {
    case fb::SegmentKind::weights: return "weights";
    case fb::SegmentKind::golden: return "golden vectors";
    case fb::SegmentKind::modules: return "code for a GPU";
    case fb::SegmentKind::recipe: return "recipe";
    case fb::SegmentKind::code: break;
    }
    for (const auto *variant : *plan.variants())
        if (!artifact::detached(*variant) && variant->segment() == segment)
            return "code for " + variant->target()->str();
    return "code";
}

Expected<ordered_json> description_of(const ArtifactFile &file, const std::string &path, bool steps) {
    const fb::Plan &plan = file.plan();
    const artifact::Header &header = file.view().header();
    const Signature signature = signature_of(header);
    ordered_json json = {{"name", text_of(plan.name())},
                         {"producer", text_of(plan.producer())},
                         {"format", format("%u.%u", header.major, header.minor)},
                         {"bytes", file.size()},
                         {"parts", parts_of(file)},
                         {"signed", signature.state == Signature::State::valid},
                         {"signature", signature.text},
                         {"key", signature.key},
                         {"version", header.version}};
    for (const auto *input : *plan.inputs())
        list_in(json, "inputs")
            .push_back({{"name", text_of(input->name())},
                        {"kind", kind_name(input->kind())},
                        {"width", input->width()},
                        {"sample_rate", input->sample_rate()},
                        {"vocabulary", input->vocabulary()}});
    json["labels"] = ordered_json::array();
    if (plan.labels())
        for (const auto *label : *plan.labels()) list_in(json, "labels").push_back(label->str());
    for (const auto *entry : *plan.entries())
        list_in(json, "entries").push_back(describe(plan, *entry, steps));
    for (const auto *variant : *plan.variants())
        list_in(json, "variants")
            .push_back({{"target", text_of(variant->target())},
                        {"code_bytes",
                         artifact::detached(*variant) ? 0 : file.view().segment(variant->segment()).size},
                        {"in_file", !artifact::detached(*variant)},
                        {"runs_here", runs_here(*variant)}});
    LW_ASSIGN(const ordered_json modules, modules_of(file));
    if (!modules.empty()) json["modules"] = modules;
    LW_ASSIGN(const ordered_json recipe, recipe_of(file));
    if (!recipe.empty()) json["recipe"] = recipe;
    json["kernels"] = size_of(plan.kernels());
    json["weights_bytes"] = plan.weights_bytes();
    json["derived_bytes"] = plan.derived_bytes();
    json["state_bytes"] = plan.state_bytes();
    json["state"] = state_of(plan);
    if (plan.scalars())
        for (const auto *scalar : *plan.scalars())
            list_in(json, "scalars")
                .push_back({{"name", text_of(scalar->name())},
                            {"unit", text_of(scalar->unit())},
                            {"initial", scalar->initial()},
                            {"low", scalar->low()},
                            {"high", scalar->high()},
                            {"smoothed", scalar->smoothed()}});
    // The plan was verified. These two texts were not, so their size and depth are limited here.
    LW_ASSIGN(json["report"], parse_limited(view_of(plan.report()), path + ": its compile report"));
    LW_ASSIGN(json["certificates"],
              parse_limited(view_of(plan.certificates()), path + ": its list of certificates"));
    return json;
}

KernelText kernel_text(const fb::Plan &plan, uint32_t kernel) {
    const std::string text = plan.kernels()->Get(kernel)->spec()->str();
    const auto spec = parse_limited(text, "kernel");
    if (!spec || !spec->is_object()) return {printable(text), ""};
    KernelText found;
    const auto add = [&](const std::string &text_of) {
        found.parameters += (found.parameters.empty() ? "" : ", ") + printable(text_of);
    };
    const auto words = [](const nlohmann::ordered_json &value) {
        return value.is_string() ? value.get<std::string>() : value.dump();
    };
    if (spec->contains("kernel")) found.name = printable(words((*spec)["kernel"]));
    if (spec->contains("params") && (*spec)["params"].is_object())
        for (const auto &[key, value] : (*spec)["params"].items())
            if (!value.is_structured()) add(key + " " + words(value));
    if (spec->contains("epilogue") && (*spec)["epilogue"].is_array())
        for (const auto &op : (*spec)["epilogue"])
            if (op.is_object() && op.contains("op") && op["op"].is_string())
                add("then " + op["op"].get<std::string>());
    if (found.name.empty()) found.name = printable(text);
    return found;
}

} // namespace longwave::cli
