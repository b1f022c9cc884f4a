#include "compiler/codegen/elf_object.h"
#include "formats/artifact/features.h"
#include "formats/artifact/static_model.h"
#include <cstddef>
#include <cstring>
#include <elf.h>

namespace longwave::compiler {
namespace {

// What differs between machines: the relocation "address of a symbol minus this place", as wide as
// a pointer.
struct Machine {
    uint32_t relative, flags;
    uint64_t code_alignment; // addresses of code are made page by page on some
};

Expected<Machine> machine_of(const targets::Target &target) {
    switch (target.elf_machine) {
    case artifact::machine_x86_64: return Machine{R_X86_64_PC64, 0, 64};
    case artifact::machine_aarch64: return Machine{R_AARCH64_PREL64, 0, 4096};
    case artifact::machine_arm: return Machine{R_ARM_REL32, EF_ARM_EABI_VER5, 64};
    }
    return Status::usage("--emit static: not for target " + target.name);
}

struct Elf64 {
    using Header = Elf64_Ehdr;
    using Section = Elf64_Shdr;
    using Symbol = Elf64_Sym;
    using Relocation = Elf64_Rela;
    static constexpr unsigned char elf_class = ELFCLASS64;
    static constexpr uint32_t relocations = SHT_RELA;
    static uint64_t info(uint32_t symbol, uint32_t type) { return ELF64_R_INFO(uint64_t{symbol}, type); }
};
struct Elf32 {
    using Header = Elf32_Ehdr;
    using Section = Elf32_Shdr;
    using Symbol = Elf32_Sym;
    using Relocation = Elf32_Rel;
    static constexpr unsigned char elf_class = ELFCLASS32;
    static constexpr uint32_t relocations = SHT_REL;
    static uint32_t info(uint32_t symbol, uint32_t type) { return ELF32_R_INFO(symbol, type); }
};

// Sections in the order in which they are added; the names come last.
template <class Elf> class Object {
public:
    Object() : bytes_(sizeof(typename Elf::Header)), sections_(1) { names_.push_back(0); }

    // Returns its index.
    uint16_t add(const std::string &name, typename Elf::Section section, const void *data, size_t size) {
        align(section.sh_addralign);
        section.sh_name = static_cast<uint32_t>(names_.size());
        names_.insert(names_.end(), name.c_str(), name.c_str() + name.size() + 1);
        section.sh_offset = static_cast<decltype(section.sh_offset)>(bytes_.size());
        section.sh_size = static_cast<decltype(section.sh_size)>(size);
        const uint8_t *from = static_cast<const uint8_t *>(data);
        bytes_.insert(bytes_.end(), from, from + size);
        sections_.push_back(section);
        return static_cast<uint16_t>(sections_.size() - 1);
    }

    std::vector<uint8_t> finish(uint16_t machine, uint32_t flags) && {
        const std::string own = ".shstrtab";
        typename Elf::Section names{};
        names.sh_type = SHT_STRTAB;
        names.sh_addralign = 1;
        names.sh_name = static_cast<uint32_t>(names_.size());
        names_.insert(names_.end(), own.c_str(), own.c_str() + own.size() + 1);
        names.sh_offset = static_cast<decltype(names.sh_offset)>(bytes_.size());
        names.sh_size = static_cast<decltype(names.sh_size)>(names_.size());
        bytes_.insert(bytes_.end(), names_.begin(), names_.end());
        sections_.push_back(names);
        align(8);
        typename Elf::Header header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = Elf::elf_class;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_type = ET_REL;
        header.e_machine = machine;
        header.e_version = EV_CURRENT;
        header.e_flags = flags;
        header.e_ehsize = sizeof header;
        header.e_shentsize = sizeof(typename Elf::Section);
        header.e_shnum = static_cast<uint16_t>(sections_.size());
        header.e_shstrndx = static_cast<uint16_t>(sections_.size() - 1);
        header.e_shoff = static_cast<decltype(header.e_shoff)>(bytes_.size());
        std::memcpy(bytes_.data(), &header, sizeof header);
        const uint8_t *table = reinterpret_cast<const uint8_t *>(sections_.data());
        bytes_.insert(bytes_.end(), table, table + sections_.size() * sizeof(typename Elf::Section));
        return std::move(bytes_);
    }

private:
    void align(uint64_t to) { bytes_.resize((bytes_.size() + to - 1) / to * to); }

    std::vector<uint8_t> bytes_;
    std::vector<typename Elf::Section> sections_;
    std::vector<char> names_;
};

template <class Elf> std::vector<uint8_t> object_of(const std::string &symbol, const Machine &machine,
                                                    uint16_t number, const std::vector<uint8_t> &image,
                                                    const std::vector<uint8_t> &model) {
    using Section = typename Elf::Section;
    using Symbol = typename Elf::Symbol;
    const auto section = [](uint32_t type, uint32_t flags, uint64_t alignment) {
        Section made{};
        made.sh_type = type;
        made.sh_flags = flags;
        made.sh_addralign = static_cast<decltype(made.sh_addralign)>(alignment);
        return made;
    };
    Object<Elf> object;
    const uint16_t code = object.add(".text." + symbol,
                                     section(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, machine.code_alignment),
                                     image.data(), image.size());
    const uint16_t data =
        object.add(".rodata." + symbol, section(SHT_PROGBITS, SHF_ALLOC, 64), model.data(), model.size());
    object.add(".note.GNU-stack", section(SHT_PROGBITS, 0, 1), nullptr, 0);

    const std::string code_symbol = symbol + "_code";
    const std::string names = std::string(1, '\0') + code_symbol + '\0' + symbol + '\0';
    Section strings = section(SHT_STRTAB, 0, 1);
    const uint16_t strings_at = object.add(".strtab", strings, names.data(), names.size());
    Symbol symbols[3] = {};
    symbols[1].st_name = 1;
    symbols[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
    symbols[1].st_shndx = code;
    symbols[2].st_name = static_cast<uint32_t>(2 + code_symbol.size());
    symbols[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbols[2].st_shndx = data;
    symbols[2].st_size = static_cast<decltype(symbols[2].st_size)>(model.size());
    Section table = section(SHT_SYMTAB, 0, 8);
    table.sh_link = strings_at;
    table.sh_info = 2; // the first that is global
    table.sh_entsize = sizeof(Symbol);
    const uint16_t symbols_at = object.add(".symtab", table, symbols, sizeof symbols);

    typename Elf::Relocation relocation{};
    relocation.r_offset = offsetof(artifact::StaticModel, image);
    relocation.r_info = Elf::info(1, machine.relative);
    Section relocations = section(Elf::relocations, SHF_INFO_LINK, 8);
    relocations.sh_link = symbols_at;
    relocations.sh_info = data;
    relocations.sh_entsize = sizeof relocation;
    object.add((Elf::relocations == SHT_RELA ? ".rela.rodata." : ".rel.rodata.") + symbol, relocations,
               &relocation, sizeof relocation);
    return std::move(object).finish(number, machine.flags);
}

} // namespace

Expected<std::vector<uint8_t>> elf_static_object(const std::string &symbol, const targets::Target &target,
                                                 const std::vector<uint8_t> &image,
                                                 const std::vector<uint8_t> &model) {
    LW_ASSIGN(const Machine machine, machine_of(target));
    return target.elf_machine == artifact::machine_arm
               ? object_of<Elf32>(symbol, machine, target.elf_machine, image, model)
               : object_of<Elf64>(symbol, machine, target.elf_machine, image, model);
}

} // namespace longwave::compiler
