#include "compiler/codegen/dispatch.h"
#include "formats/artifact/modules.h"
#include "formats/package/json_text.h"
#include <fmt/format.h>

namespace longwave::compiler {
namespace {

using nlohmann::json;

constexpr size_t max_depth = 8;

Status wrong(const std::string &where, const std::string &expected) {
    return Status::internal(fmt::format("kernel signature: gpu.{}: expected {}", where, expected));
}

bool is_number(const json &value, int64_t least, int64_t most) {
    return value.is_number_integer() && value.get<int64_t>() >= least && value.get<int64_t>() <= most;
}

Expected<std::array<uint32_t, 3>> read_three(const json &gpu, const char *key) {
    const auto found = gpu.find(key);
    if (found == gpu.end() || !found->is_array() || found->size() != 3) return wrong(key, "three numbers");
    std::array<uint32_t, 3> three;
    for (size_t i = 0; i < 3; i++) {
        if (!is_number((*found)[i], 1, INT32_MAX)) return wrong(key, "numbers of at least 1");
        three[i] = (*found)[i].get<uint32_t>();
    }
    return three;
}

Expected<std::vector<uint8_t>> read_bindings(const json &gpu, const schedules::Signature &signature) {
    const auto found = gpu.find("bindings");
    if (found == gpu.end() || !found->is_array() || found->size() != signature.args.size())
        return wrong("bindings", fmt::format("{} numbers", signature.args.size()));
    const json scalars = gpu.value("scalars", json(-1));
    std::vector<uint8_t> bindings;
    for (size_t a = 0; a < found->size(); a++) {
        const bool scalar = signature.args[a].kind == schedules::ArgKind::scalar;
        const json &number = scalar ? scalars : (*found)[a];
        if (!is_number(number, -1, artifact::unbound - 1))
            return wrong("bindings", "numbers of descriptors, or -1");
        bindings.push_back(number < 0 ? artifact::unbound : number.get<uint8_t>());
    }
    return bindings;
}

Expected<uint32_t> read_features(const json &gpu) {
    uint32_t features = 0;
    for (const json &name : gpu.value("features", json::array())) {
        if (name != "shaderFloat64") return wrong("features", "shaderFloat64 alone, found " + name.dump());
        features |= artifact::gpu_float64;
    }
    return features;
}

} // namespace

Expected<Dispatch> parse_dispatch(const std::string &text, const schedules::Signature &signature) {
    package::Problems problems;
    const auto document = package::parse_json(text, "kernel signature", max_depth, problems);
    if (!document) return Status::internal(problems.status().message());
    const auto found = document->is_object() ? document->find("gpu") : document->end();
    if (found == document->end() || !found->is_object()) return wrong("", "an object");
    const json &gpu = *found;
    Dispatch dispatch;
    const json entry = gpu.value("entry", json()), shared = gpu.value("shared_bytes", json());
    if (!entry.is_string()) return wrong("entry", "a text");
    if (!is_number(shared, 0, INT32_MAX)) return wrong("shared_bytes", "a number that is not negative");
    dispatch.entry = entry;
    dispatch.shared_bytes = shared.get<uint32_t>();
    LW_ASSIGN(dispatch.grid, read_three(gpu, "grid"));
    LW_ASSIGN(dispatch.local, read_three(gpu, "local"));
    LW_ASSIGN(dispatch.bindings, read_bindings(gpu, signature));
    LW_ASSIGN(dispatch.features, read_features(gpu));
    const json variants = gpu.value("variants", json());
    if (!is_number(variants, 1, artifact::most_variants)) return wrong("variants", "a number of at least 1");
    dispatch.variants = variants.get<uint32_t>();
    return dispatch;
}

} // namespace longwave::compiler
