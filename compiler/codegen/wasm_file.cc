#include "compiler/codegen/wasm_file.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace longwave::compiler {
namespace {

constexpr uint8_t front[8] = {0, 'a', 's', 'm', 1, 0, 0, 0};
enum Section : uint8_t { custom = 0, types = 1, imports = 2, elements = 9, code = 10, data = 11 };
enum SymbolKind : uint8_t { function_symbol = 0, data_symbol = 1, section_symbol = 3 };
enum SymbolFlag : uint32_t { local = 2, undefined = 16, explicit_name = 64 };
constexpr uint8_t binding = 3; // bits of the flags
enum Relocation : uint8_t { table_index_i32 = 2, memory_address_i32 = 5 };
enum Linking : uint8_t { linking_version = 2, segment_info = 5, symbol_table = 8 };

class Writer {
public:
    Writer &byte(uint8_t value) { return bytes_.push_back(value), *this; }
    Writer &number(uint64_t value) { // LEB128
        for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<uint8_t>(value | 128));
        return byte(static_cast<uint8_t>(value));
    }
    Writer &put(const std::vector<uint8_t> &bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    Writer &name(const std::string &text) { return number(text.size()).put({text.begin(), text.end()}); }
    Writer &part(uint8_t id, const Writer &body) { return byte(id).number(body.size()).put(body.bytes_); }
    size_t size() const { return bytes_.size(); }
    std::vector<uint8_t> take() && { return std::move(bytes_); }

private:
    std::vector<uint8_t> bytes_;
};

// What is behind the end reads as 0; `inside` says that nothing was.
class Reader {
public:
    Reader(const std::vector<uint8_t> &bytes, size_t at, size_t end)
        : bytes_(bytes), at_(at), end_(std::min(end, bytes.size())) {}
    uint8_t byte() {
        if (at_ < end_) return bytes_[at_++];
        inside_ = false;
        return 0;
    }
    uint64_t number() {
        uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const uint8_t next = byte();
            value |= uint64_t{next & 127u} << shift;
            if (next < 128) return value;
        }
        inside_ = false;
        return 0;
    }
    std::string name() {
        const Reader text = part();
        return {reinterpret_cast<const char *>(bytes_.data()) + text.at_, text.end_ - text.at_};
    }
    Reader part() { // with its size before it
        uint64_t size = number();
        if (size > end_ - at_) inside_ = false, size = end_ - at_;
        at_ += size;
        return {bytes_, at_ - size, at_};
    }
    bool more() const { return inside_ && at_ < end_; }
    bool inside() const { return inside_; }
    size_t at() const { return at_; }
    size_t left() const { return end_ - at_; }

private:
    const std::vector<uint8_t> &bytes_;
    size_t at_, end_;
    bool inside_ = true;
};

bool is_wasm(const std::vector<uint8_t> &object) {
    return object.size() >= sizeof front && std::memcmp(object.data(), front, sizeof front) == 0;
}

Writer imports_of(const WasmConstant &constant) {
    Writer body;
    const size_t functions = constant.functions.size();
    body.number(functions > 0 ? functions + 2 : 1);
    body.name("env").name("__linear_memory").byte(2).number(0).number(0);
    for (const auto &[offset, name] : constant.functions) body.name("env").name(name).byte(0).number(0);
    // At least as large as its elements, which are numbered from 1: 0 is the null pointer.
    if (functions > 0)
        body.name("env").name("__indirect_function_table").byte(1).byte(0x70).number(0).number(functions + 1);
    return body;
}

Writer symbols_of(const WasmConstant &constant) {
    Writer body;
    body.number(constant.functions.size() + 1 + constant.addresses.size());
    for (size_t i = 0; i < constant.functions.size(); i++)
        body.byte(function_symbol).number(undefined).number(i);
    body.byte(data_symbol).number(0).name(constant.symbol).number(0).number(0).number(constant.data.size());
    for (const auto &[offset, name] : constant.addresses) body.byte(data_symbol).number(undefined).name(name);
    return body;
}

Writer relocations_of(const WasmConstant &constant, uint32_t section, size_t data_at) {
    Writer body;
    body.name("reloc.DATA").number(section).number(constant.functions.size() + constant.addresses.size());
    uint32_t symbol = 0;
    for (const auto &[offset, name] : constant.functions)
        body.byte(table_index_i32).number(data_at + offset).number(symbol++);
    symbol++; // the constant itself
    for (const auto &[offset, name] : constant.addresses)
        body.byte(memory_address_i32).number(data_at + offset).number(symbol++).number(0);
    return body;
}

// Where the flags of the symbol begin, and the symbol.
struct Symbol {
    size_t flags_at;
    uint32_t flags;
    uint8_t kind;
    std::string name;
};
Symbol read_symbol(Reader &from) {
    Symbol symbol{};
    symbol.kind = from.byte();
    symbol.flags_at = from.at();
    symbol.flags = static_cast<uint32_t>(from.number());
    const bool defined = !(symbol.flags & undefined);
    if (symbol.kind == data_symbol) {
        symbol.name = from.name();
        for (int i = 0; defined && i < 3; i++) from.number(); // segment, offset, size
        return symbol;
    }
    const uint64_t index = from.number();
    if (symbol.kind != section_symbol && (defined || symbol.flags & explicit_name)) symbol.name = from.name();
    else symbol.name = fmt::format("number {}", index);
    return symbol;
}

} // namespace

std::vector<uint8_t> wasm_constant(const WasmConstant &constant) {
    Writer file;
    file.put({std::begin(front), std::end(front)});
    uint32_t sections = 1; // before the data
    const size_t functions = constant.functions.size();
    if (functions > 0) { // one type: int f(void **)
        file.part(types, Writer().number(1).byte(0x60).number(1).byte(0x7f).number(1).byte(0x7f));
        sections += 2;
    }
    file.part(imports, imports_of(constant));
    if (functions > 0) {
        Writer body;
        body.number(1).number(0).byte(0x41).byte(1).byte(0x0b).number(functions); // from 1 on
        for (size_t i = 0; i < functions; i++) body.number(i);
        file.part(elements, body);
    }
    Writer body;
    body.number(1).number(0).byte(0x41).byte(0).byte(0x0b).number(constant.data.size()); // one segment, at 0
    const size_t data_at = body.size();
    body.put(constant.data);
    file.part(data, body);
    constexpr uint8_t alignment = 6; // 64 bytes
    const Writer segments =
        std::move(Writer().number(1).name(".rodata." + constant.symbol).number(alignment).number(0));
    const Writer symbols = symbols_of(constant);
    file.part(custom, Writer()
                          .name("linking")
                          .number(linking_version)
                          .part(segment_info, segments)
                          .part(symbol_table, symbols));
    file.part(custom, relocations_of(constant, sections, data_at));
    return std::move(file).take();
}

uint64_t wasm_code_bytes(const std::vector<uint8_t> &object) {
    if (!is_wasm(object)) return 0;
    uint64_t bytes = 0;
    for (Reader file(object, sizeof front, object.size()); file.more();) {
        const uint8_t id = file.byte();
        const Reader body = file.part();
        if (id == code || id == data) bytes += body.left();
    }
    return bytes;
}

Status keep_only(std::vector<uint8_t> &object, const std::string &symbol) {
    const Status unreadable = Status::internal("the linker's output is not a relocatable WebAssembly object");
    if (!is_wasm(object)) return unreadable;
    std::string missing;
    std::vector<size_t> to_hide;
    bool found = false;
    for (Reader file(object, sizeof front, object.size()); file.more();) {
        const uint8_t id = file.byte();
        Reader body = file.part();
        if (!file.inside()) return unreadable;
        if (id != custom || body.name() != "linking") continue;
        body.number(); // version
        while (body.more()) {
            const uint8_t kind = body.byte();
            Reader table = body.part();
            if (kind != symbol_table) continue;
            for (uint64_t left = table.number(); left > 0 && table.more(); left--) {
                const Symbol read = read_symbol(table);
                const bool named = read.kind == function_symbol || read.kind == data_symbol;
                if (named && read.flags & undefined) missing += (missing.empty() ? "" : ", ") + read.name;
                else if (named && read.name == symbol) found = true;
                else if (named) to_hide.push_back(read.flags_at);
            }
            if (!table.inside()) return unreadable;
        }
        if (!body.inside()) return unreadable;
    }
    if (!missing.empty()) return Status::internal("the linked object leaves undefined: " + missing);
    if (!found) return Status::internal("the linked object lacks " + symbol);
    for (const size_t at : to_hide) object[at] = static_cast<uint8_t>((object[at] & ~binding) | local);
    return {};
}

} // namespace longwave::compiler
