#include "compiler/codegen/static_object.h"
#include <fmt/format.h>

namespace longwave::compiler {

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
