#include "compiler/codegen/elf_input.h"
#include "formats/base/checked.h"
#include <bit>
#include <cstring>
#include <elf.h>

namespace longwave::compiler {
namespace {

struct Elf64 {
    using Header = Elf64_Ehdr;
    using Section = Elf64_Shdr;
    using Symbol = Elf64_Sym;
    using Relocation = Elf64_Rel;
    using RelocationWithAddend = Elf64_Rela;
    static uint32_t type(uint64_t info) { return static_cast<uint32_t>(ELF64_R_TYPE(info)); }
    static uint32_t symbol(uint64_t info) { return static_cast<uint32_t>(ELF64_R_SYM(info)); }
};
struct Elf32 {
    using Header = Elf32_Ehdr;
    using Section = Elf32_Shdr;
    using Symbol = Elf32_Sym;
    using Relocation = Elf32_Rel;
    using RelocationWithAddend = Elf32_Rela;
    static uint32_t type(uint32_t info) { return ELF32_R_TYPE(info); }
    static uint32_t symbol(uint32_t info) { return ELF32_R_SYM(info); }
};

Status damaged(const char *what) {
    return Status::internal(std::string("a kernel object is damaged: ") + what);
}

template <class Elf> class Reader {
public:
    explicit Reader(std::span<const uint8_t> object) : object_(object) {}

    Expected<ElfInput> read(uint16_t machine) {
        if (!get(0, header_) || header_.e_type != ET_REL) return damaged("it is not relocatable");
        if (header_.e_machine != machine) return Status::internal("a kernel object is for another machine");
        LW_TRY(read_sections());
        LW_TRY(read_symbols());
        LW_TRY(read_relocations());
        return std::move(input_);
    }

private:
    using Section = typename Elf::Section;

    template <class T> bool get(uint64_t offset, T &value) const {
        if (!checked::inside(offset, sizeof value, object_.size())) return false;
        std::memcpy(&value, object_.data() + offset, sizeof value);
        return true;
    }

    bool content(const Section &section, std::span<const uint8_t> &bytes) const {
        if (!checked::inside(section.sh_offset, section.sh_size, object_.size())) return false;
        bytes = object_.subspan(section.sh_offset, section.sh_size);
        return true;
    }

    // The text at an offset of a string table, which ends inside the table.
    static bool text(std::span<const uint8_t> table, uint64_t offset, std::string_view &out) {
        if (offset >= table.size()) return false;
        const char *begin = reinterpret_cast<const char *>(table.data()) + offset;
        const void *end = std::memchr(begin, 0, table.size() - offset);
        if (!end) return false;
        out = {begin, static_cast<const char *>(end)};
        return true;
    }

    Status read_sections() {
        if (header_.e_shentsize != sizeof(Section)) return damaged("its sections have another size");
        headers_.resize(header_.e_shnum);
        for (size_t i = 0; i < headers_.size(); i++)
            if (!get(header_.e_shoff + i * sizeof(Section), headers_[i]))
                return damaged("its sections are cut short");
        std::span<const uint8_t> names;
        if (header_.e_shstrndx >= headers_.size() || !content(headers_[header_.e_shstrndx], names))
            return damaged("its sections have no names");
        input_.sections.resize(headers_.size());
        for (size_t i = 1; i < headers_.size(); i++) {
            const Section &from = headers_[i];
            ElfSection &to = input_.sections[i];
            to.type = from.sh_type;
            to.flags = from.sh_flags;
            to.size = from.sh_size;
            to.alignment = from.sh_addralign ? from.sh_addralign : 1;
            to.entry_size = from.sh_entsize;
            if (!text(names, from.sh_name, to.name)) return damaged("a section has no name");
            if (!std::has_single_bit(to.alignment) || to.alignment > 1u << 16)
                return damaged("the alignment of a section");
            if (from.sh_type != SHT_NOBITS && !content(from, to.bytes))
                return damaged("a section lies outside");
        }
        return Status::ok();
    }

    Status read_symbols() {
        size_t table = 0;
        for (size_t i = 1; i < headers_.size(); i++)
            if (headers_[i].sh_type == SHT_SYMTAB) table = i;
        if (table == 0) return Status::ok();
        std::span<const uint8_t> names;
        if (headers_[table].sh_link >= headers_.size() || !content(headers_[headers_[table].sh_link], names))
            return damaged("its symbols have no names");
        input_.symbols.resize(headers_[table].sh_size / sizeof(typename Elf::Symbol));
        for (size_t i = 1; i < input_.symbols.size(); i++) {
            typename Elf::Symbol from;
            ElfSymbol &to = input_.symbols[i];
            if (!get(headers_[table].sh_offset + i * sizeof from, from) ||
                !text(names, from.st_name, to.name))
                return damaged("a symbol has no name");
            to.value = from.st_value;
            to.local = ELF64_ST_BIND(from.st_info) == STB_LOCAL;
            to.weak = ELF64_ST_BIND(from.st_info) == STB_WEAK;
            to.names_section = ELF64_ST_TYPE(from.st_info) == STT_SECTION;
            to.absolute = from.st_shndx == SHN_ABS;
            if (from.st_shndx == SHN_COMMON) return Status::internal("a kernel object has writable data");
            if (to.absolute) continue;
            if (from.st_shndx >= headers_.size()) return damaged("a symbol lies in no section");
            to.section = from.st_shndx;
        }
        return Status::ok();
    }

    Status read_relocations() {
        for (const Section &section : headers_) {
            if (section.sh_type == SHT_RELA) LW_TRY(read_table<typename Elf::RelocationWithAddend>(section));
            if (section.sh_type == SHT_REL) LW_TRY(read_table<typename Elf::Relocation>(section));
        }
        return Status::ok();
    }

    template <class Relocation> Status read_table(const Section &table) {
        if (table.sh_info >= input_.sections.size()) return damaged("relocations of no section");
        ElfSection &section = input_.sections[table.sh_info];
        for (uint64_t i = 0; i < table.sh_size / sizeof(Relocation); i++) {
            Relocation from;
            if (!get(table.sh_offset + i * sizeof from, from))
                return damaged("its relocations are cut short");
            ElfRelocation to{from.r_offset, Elf::type(from.r_info), Elf::symbol(from.r_info), 0, true};
            if constexpr (requires { from.r_addend; }) {
                to.addend = from.r_addend;
                to.addend_in_place = false;
            }
            if (to.symbol >= input_.symbols.size()) return damaged("a relocation to no symbol");
            section.relocations.push_back(to);
        }
        return Status::ok();
    }

    std::span<const uint8_t> object_;
    typename Elf::Header header_{};
    std::vector<Section> headers_;
    ElfInput input_;
};

} // namespace

Expected<ElfInput> read_elf(std::span<const uint8_t> object, uint16_t machine) {
    if (object.size() <= EI_DATA || std::memcmp(object.data(), ELFMAG, SELFMAG) != 0 ||
        object[EI_DATA] != ELFDATA2LSB)
        return damaged("it is not an ELF file");
    return object[EI_CLASS] == ELFCLASS32 ? Reader<Elf32>(object).read(machine)
                                          : Reader<Elf64>(object).read(machine);
}

// Each entry is the address of a function, which a relocation fills in, and a ULEB128 number.
Expected<uint64_t> stack_bytes(const std::vector<uint8_t> &object, const targets::Target &target) {
    if (object.size() <= EI_CLASS || std::memcmp(object.data(), ELFMAG, SELFMAG) != 0)
        return uint64_t{0}; // WebAssembly
    LW_ASSIGN(const ElfInput elf, read_elf(object, target.elf_machine));
    const size_t address = object[EI_CLASS] == ELFCLASS32 ? 4 : 8;
    uint64_t sum = 0;
    for (const ElfSection &section : elf.sections) {
        if (section.name != ".stack_sizes") continue;
        for (size_t at = address; at < section.bytes.size(); at += address) {
            uint64_t size = 0;
            for (unsigned shift = 0;; shift += 7, at++) {
                if (at >= section.bytes.size() || shift > 28)
                    return Status::internal("a kernel object is damaged: its sizes of stack frames");
                size |= uint64_t{section.bytes[at] & 0x7fu} << shift;
                if (section.bytes[at] < 0x80) break;
            }
            at++;
            sum += size;
        }
    }
    return sum;
}

} // namespace longwave::compiler
