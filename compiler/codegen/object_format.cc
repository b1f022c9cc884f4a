#include "compiler/codegen/object_format.h"
#include <fmt/format.h>
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

static void put_header(std::vector<uint8_t> &to, const std::string &name, size_t bytes) {
    const std::string header = fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 644, bytes);
    to.insert(to.end(), header.begin(), header.end());
}

std::vector<uint8_t> archive_of(const std::string &symbol, const std::vector<uint8_t> &object) {
    const std::string start = "!<arch>\n", names = symbol + '\0';
    constexpr size_t header = 60; // of each member; members begin at even offsets
    const size_t index_bytes = (8 + names.size() + 1) / 2 * 2;
    const uint32_t at = static_cast<uint32_t>(start.size() + header + index_bytes);
    const uint32_t index[2] = {__builtin_bswap32(1), __builtin_bswap32(at)};
    std::vector<uint8_t> archive(start.begin(), start.end());
    put_header(archive, "/", index_bytes);
    const uint8_t *numbers = reinterpret_cast<const uint8_t *>(index);
    archive.insert(archive.end(), numbers, numbers + sizeof index);
    archive.insert(archive.end(), names.begin(), names.end());
    archive.resize(at, '\n');
    put_header(archive, "model.o/", object.size());
    archive.insert(archive.end(), object.begin(), object.end());
    if (archive.size() % 2 != 0) archive.push_back('\n');
    return archive;
}

} // namespace longwave::compiler
