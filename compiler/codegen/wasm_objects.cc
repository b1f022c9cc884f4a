#include "compiler/base/process.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/codegen/object_format.h"
#include "compiler/codegen/wasm_file.h"
#include "formats/artifact/static_model.h"
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

// WebAssembly has no code at addresses. An "image" has a record per kernel, to which the kernel's
// entry points, and then one relocatable object with all kernels and a table of their numbers.
namespace longwave::compiler {
namespace {

const std::string functions_symbol = "longwave_functions";

struct Front { // of an image
    uint64_t object, object_bytes;
};
struct Record {
    uint64_t scratch_bytes; // before the entry, as in every image
    uint64_t number;
};

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Links relocatable objects into one.
Expected<std::vector<uint8_t>> join(const std::vector<std::span<const uint8_t>> &objects,
                                    const targets::Target &target) {
    LW_ASSIGN(auto folder, TemporaryFolder::create());
    const std::string output = (folder.path() / "joined.o").string();
    std::vector<std::string> command = {"wasm-ld", "-m",  target.emulation, "--relocatable", "--strip-debug",
                                        "-o",      output};
    for (size_t i = 0; i < objects.size(); i++) {
        const std::string path = (folder.path() / fmt::format("{}.o", i)).string();
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char *>(objects[i].data()),
                   static_cast<std::streamsize>(objects[i].size()));
        if (!file.flush())
            return folder.explained(Status::device(fmt::format("{}: {}", path, std::strerror(errno))));
        command.push_back(path);
    }
    LW_ASSIGN(const auto run, run_process(command));
    if (run.exit_code != 0)
        return folder.explained(Status::device(
            fmt::format("wasm-ld (package lld) ended with {}: {}", run.exit_code, run.output)));
    return read_bytes(output);
}

Expected<CodeImage> link(const std::vector<LinkedKernel> &kernels, const targets::Target &target) {
    const std::vector<uint8_t> numbers(kernels.size() * sizeof(uint32_t));
    WasmConstant table{functions_symbol, numbers};
    std::vector<std::span<const uint8_t>> objects;
    std::vector<Record> records;
    CodeImage image;
    for (uint32_t i = 0; i < kernels.size(); i++) {
        objects.push_back(*kernels[i].object);
        table.functions.push_back({static_cast<uint32_t>(i * sizeof(uint32_t)), kernels[i].symbol});
        records.push_back({kernels[i].scratch_bytes, i});
        image.entries.push_back(
            static_cast<uint32_t>(sizeof(Front) + i * sizeof(Record) + offsetof(Record, number)));
    }
    const std::vector<uint8_t> table_object = wasm_constant(table);
    objects.push_back(table_object);
    objects.push_back(shim_of(target));
    LW_ASSIGN(std::vector<uint8_t> object, join(objects, target));
    LW_TRY(keep_only(object, functions_symbol));
    const size_t records_bytes = records.size() * sizeof(Record);
    const Front front = {aligned(sizeof(Front) + records_bytes), object.size()};
    image.bytes.resize(aligned(front.object + object.size()));
    std::memcpy(image.bytes.data(), &front, sizeof front);
    if (!records.empty()) std::memcpy(image.bytes.data() + sizeof front, records.data(), records_bytes);
    std::memcpy(image.bytes.data() + front.object, object.data(), object.size());
    return image;
}

Expected<std::vector<uint8_t>> wasm_static_object(const std::string &symbol, const targets::Target &target,
                                                  const std::vector<uint8_t> &image,
                                                  const std::vector<uint8_t> &model) {
    Front front;
    std::memcpy(&front, image.data(), sizeof front);
    WasmConstant constant{symbol, model};
    constant.addresses.push_back({offsetof(artifact::StaticModel, image), functions_symbol});
    const std::vector<uint8_t> constants = wasm_constant(constant);
    LW_ASSIGN(std::vector<uint8_t> object,
              join({constants, std::span(image).subspan(front.object, front.object_bytes)}, target));
    LW_TRY(keep_only(object, symbol));
    return object;
}

} // namespace

const ObjectFormat &wasm_objects() {
    static constexpr ObjectFormat format = {wasm_code_bytes, link, wasm_static_object};
    return format;
}

} // namespace longwave::compiler
