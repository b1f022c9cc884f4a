#include "compiler/codegen/object_format.h"
#include "compiler/codegen/static_object.h"
#include <string_view>
#include <utility>

extern "C" {
extern const uint8_t longwave_shim_x86_64[], longwave_shim_x86_64_end[], longwave_shim_aarch64[],
    longwave_shim_aarch64_end[], longwave_shim_arm[], longwave_shim_arm_end[], longwave_shim_thumb[],
    longwave_shim_thumb_end[], longwave_shim_wasm32[], longwave_shim_wasm32_end[];
}

namespace longwave::compiler {
namespace {

const ObjectFormat &format_of(const targets::Target &target) {
    return target.objects == targets::ObjectFormat::wasm ? wasm_objects() : elf_objects();
}

} // namespace

std::span<const uint8_t> shim_of(const targets::Target &target) {
    const std::pair<std::string_view, std::span<const uint8_t>> shims[] = {
        {"x86_64", {longwave_shim_x86_64, longwave_shim_x86_64_end}},
        {"aarch64", {longwave_shim_aarch64, longwave_shim_aarch64_end}},
        {"arm", {longwave_shim_arm, longwave_shim_arm_end}},
        {"thumb", {longwave_shim_thumb, longwave_shim_thumb_end}},
        {"wasm32", {longwave_shim_wasm32, longwave_shim_wasm32_end}}};
    for (const auto &[name, bytes] : shims)
        if (name == target.shim) return bytes;
    return {};
}

uint64_t code_bytes(const std::vector<uint8_t> &object, const targets::Target &target) {
    return format_of(target).code_bytes(object);
}

Expected<CodeImage> link_image(const std::vector<LinkedKernel> &kernels, const targets::Target &target) {
    return format_of(target).link_image(kernels, target);
}

Expected<std::vector<uint8_t>> static_object(const std::string &symbol, const targets::Target &target,
                                             const std::vector<uint8_t> &image,
                                             const std::vector<uint8_t> &model) {
    return format_of(target).static_object(symbol, target, image, model);
}

} // namespace longwave::compiler
