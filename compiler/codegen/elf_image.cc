#include "compiler/codegen/elf_input.h"
#include "compiler/codegen/elf_object.h"
#include "compiler/codegen/elf_relocation.h"
#include "compiler/codegen/object_format.h"
#include "formats/artifact/features.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <map>
#include <set>
#include <span>

namespace longwave::compiler {
namespace {

constexpr uint64_t entry_alignment = 16, part_alignment = 64, most_bytes = 1u << 30;

uint64_t aligned(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

bool loaded(const ElfSection &section) { return section.type == SHT_PROGBITS && section.flags & SHF_ALLOC; }

// Equal constants of equal size may share one place.
bool mergeable(const ElfSection &section) {
    return section.flags & SHF_MERGE && !(section.flags & SHF_STRINGS) && section.entry_size > 0 &&
           section.size % section.entry_size == 0 && section.relocations.empty();
}

// A section of one of the objects.
struct Place {
    size_t object, section;
    auto operator<=>(const Place &) const = default;
};

class Image {
public:
    Image(const std::vector<LinkedKernel> &kernels, const targets::Target &target)
        : kernels_(kernels), machine_(target.elf_machine), thumb_(target.thumb), shim_(shim_of(target)) {}

    Expected<CodeImage> link() {
        LW_TRY(read_objects());
        LW_TRY(find_definitions());
        LW_TRY(mark_used());
        LW_TRY(place_code());
        place_constants();
        if (bytes_.size() > most_bytes) return Status::internal("the code of a model takes more than 1 GB");
        for (const auto &[place, address] : addresses_) LW_TRY(relocate_section(place, address));
        bytes_.resize(aligned(bytes_.size(), part_alignment), 0);
        return CodeImage{std::move(bytes_), std::move(entries_)};
    }

private:
    const ElfSection &section(Place place) const { return objects_[place.object].sections[place.section]; }

    Status read_objects() {
        for (const LinkedKernel &kernel : kernels_) {
            LW_ASSIGN(ElfInput object, read_elf(*kernel.object, machine_));
            objects_.push_back(std::move(object));
        }
        LW_ASSIGN(ElfInput shim, read_elf(shim_, machine_));
        objects_.push_back(std::move(shim));
        return Status::ok();
    }

    // Of two definitions the first that is not weak counts, else the first.
    Status find_definitions() {
        for (size_t o = 0; o < objects_.size(); o++)
            for (const ElfSymbol &symbol : objects_[o].symbols) {
                if (symbol.local || symbol.section == 0) continue;
                const Definition here{{o, symbol.section}, symbol.value, symbol.weak};
                const auto [found, added] = definitions_.try_emplace(symbol.name, here);
                if (added || symbol.weak) continue;
                if (!found->second.weak)
                    return Status::internal(fmt::format("two kernels define {}", symbol.name));
                found->second = here;
            }
        return Status::ok();
    }

    struct Definition {
        Place place;
        uint64_t value;
        bool weak;
    };

    // Where the symbol of a relocation lies.
    Expected<Definition> definition(size_t object, const ElfRelocation &relocation) const {
        const ElfSymbol &symbol = objects_[object].symbols[relocation.symbol];
        if (symbol.local && symbol.section) return Definition{{object, symbol.section}, symbol.value, false};
        const auto found = definitions_.find(symbol.name);
        if (symbol.absolute || found == definitions_.end())
            return Status::internal(fmt::format("the linked image leaves {} undefined", symbol.name));
        return found->second;
    }

    // Everything that the kernels reach, and nothing else.
    Status mark_used() {
        std::vector<Place> todo;
        for (const LinkedKernel &kernel : kernels_) {
            const auto found = definitions_.find(kernel.symbol);
            if (found == definitions_.end())
                return Status::internal(fmt::format("the linked image lacks {}", kernel.symbol));
            const Place place = found->second.place;
            if ((found->second.value & ~uint64_t{thumb_}) != 0 || !entry_places_.insert(place).second)
                return Status::internal(fmt::format("{} has no section of its own", kernel.symbol));
            todo.push_back(place);
        }
        while (!todo.empty()) {
            const Place place = todo.back();
            todo.pop_back();
            if (!used_.insert(place).second) continue;
            LW_TRY(check_kind(section(place)));
            for (const ElfRelocation &relocation : section(place).relocations) {
                LW_ASSIGN(const Definition to, definition(place.object, relocation));
                todo.push_back(to.place);
            }
        }
        return Status::ok();
    }

    static Status check_kind(const ElfSection &section) {
        if (!loaded(section))
            return Status::internal(fmt::format("a kernel uses {}, which is not loaded", section.name));
        if (section.flags & SHF_WRITE && !section.name.starts_with(".data.rel.ro"))
            return Status::internal(fmt::format("the linked image has writable data in {}", section.name));
        return Status::ok();
    }

    void append(uint64_t alignment, std::span<const uint8_t> content, uint8_t padding) {
        bytes_.resize(aligned(bytes_.size(), alignment), padding);
        bytes_.insert(bytes_.end(), content.begin(), content.end());
    }

    // Kernels first, each behind the 8 bytes that say what it needs; then the functions that they
    // call.
    Status place_code() {
        const uint8_t trap = machine_ == artifact::machine_x86_64 ? 0xcc
                             : machine_ == artifact::machine_arm  ? 0xd4
                                                                  : 0;
        const auto place_section = [&](Place place) {
            append(section(place).alignment, section(place).bytes, trap);
            addresses_.emplace_back(place, bytes_.size() - section(place).size);
            address_of_[place] = addresses_.back().second;
        };
        for (const LinkedKernel &kernel : kernels_) {
            const Place place = definitions_.find(kernel.symbol)->second.place;
            if (!(section(place).flags & SHF_EXECINSTR) || section(place).alignment > entry_alignment)
                return Status::internal(
                    fmt::format("{} is not a function aligned to 16 bytes", kernel.symbol));
            bytes_.resize(aligned(bytes_.size(), entry_alignment) + entry_alignment -
                              sizeof kernel.scratch_bytes,
                          trap);
            uint8_t need[sizeof kernel.scratch_bytes];
            std::memcpy(need, &kernel.scratch_bytes, sizeof need);
            append(1, need, trap);
            place_section(place);
            entries_.push_back(static_cast<uint32_t>(address_of_[place]));
        }
        for (const Place place : used_)
            if (section(place).flags & SHF_EXECINSTR && !entry_places_.contains(place)) place_section(place);
        return Status::ok();
    }

    // Constants of one size come where the first of them comes.
    void place_constants() {
        bytes_.resize(aligned(bytes_.size(), part_alignment), 0);
        std::set<uint64_t> sizes; // of constants that are placed
        for (const Place place : used_) {
            const ElfSection &one = section(place);
            if (one.flags & SHF_EXECINSTR) continue;
            if (!mergeable(one)) {
                append(one.alignment, one.bytes, 0);
                addresses_.emplace_back(place, bytes_.size() - one.size);
                address_of_[place] = addresses_.back().second;
            } else if (sizes.insert(one.entry_size).second) {
                place_merged(one.entry_size);
            }
        }
    }

    void place_merged(uint64_t size) {
        std::map<std::string_view, uint64_t> known;
        uint64_t alignment = 1;
        for (const Place place : used_)
            if (mergeable(section(place)) && section(place).entry_size == size)
                alignment = std::max(alignment, section(place).alignment);
        for (const Place place : used_) {
            const ElfSection &one = section(place);
            if (!mergeable(one) || one.entry_size != size) continue;
            for (uint64_t at = 0; at < one.size; at += size) {
                const std::span<const uint8_t> constant = one.bytes.subspan(at, size);
                const std::string_view key(reinterpret_cast<const char *>(constant.data()), size);
                if (const auto found = known.find(key); found != known.end()) {
                    constants_[{place, at}] = found->second;
                    continue;
                }
                append(alignment, constant, 0);
                constants_[{place, at}] = known[key] = bytes_.size() - size;
            }
        }
    }

    // The address of symbol plus addend.
    Expected<uint64_t> target_of(size_t object, const ElfRelocation &relocation, int64_t addend) const {
        LW_ASSIGN(const Definition to, definition(object, relocation));
        const ElfSection &in = section(to.place);
        if (!mergeable(in)) return address_of_.at(to.place) + to.value + static_cast<uint64_t>(addend);
        // The addend of a section's symbol says which constant is meant, that of another symbol is
        // a distance from it.
        const bool of_section = objects_[object].symbols[relocation.symbol].names_section;
        const uint64_t offset = to.value + (of_section ? static_cast<uint64_t>(addend) : 0);
        if (offset >= in.size)
            return Status::internal("a relocation of a kernel object points outside the constants");
        const uint64_t within = offset % in.entry_size;
        return constants_.at({to.place, offset - within}) + within +
               (of_section ? 0 : static_cast<uint64_t>(addend));
    }

    Status relocate_section(Place place, uint64_t address) {
        const ElfSection &from = section(place);
        for (const ElfRelocation &relocation : from.relocations) {
            if (relocation.offset > from.size)
                return Status::internal("a relocation of a kernel object lies outside its section");
            const uint64_t at = address + relocation.offset;
            const std::span<uint8_t> bytes = std::span(bytes_).subspan(at, from.size - relocation.offset);
            LW_ASSIGN(const int64_t addend, addend_of(relocation, machine_, bytes));
            LW_ASSIGN(const uint64_t target, target_of(place.object, relocation, addend));
            LW_TRY(relocate(relocation.type, machine_, target, at, bytes));
        }
        return Status::ok();
    }

    const std::vector<LinkedKernel> &kernels_;
    uint16_t machine_;
    bool thumb_; // addresses of functions are odd
    std::span<const uint8_t> shim_;
    std::vector<ElfInput> objects_; // of the kernels, then the scratch allocator
    std::map<std::string_view, Definition> definitions_;
    std::set<Place> used_, entry_places_;
    std::vector<uint8_t> bytes_;
    std::vector<uint32_t> entries_;
    std::vector<std::pair<Place, uint64_t>> addresses_; // of sections that are not merged
    std::map<Place, uint64_t> address_of_;
    std::map<std::pair<Place, uint64_t>, uint64_t> constants_; // merged ones, by section and offset
};

uint64_t code_bytes_of(const std::vector<uint8_t> &object) {
    if (object.size() <= EI_CLASS + sizeof(Elf32_Ehdr)) return 0;
    uint16_t machine = 0;
    std::memcpy(&machine, object.data() + offsetof(Elf32_Ehdr, e_machine), sizeof machine);
    const auto read = read_elf(object, machine);
    if (!read) return 0;
    uint64_t bytes = 0;
    // Unwinding tables are of another type, or never reached.
    for (const ElfSection &section : read->sections)
        if (loaded(section) && !(section.flags & SHF_WRITE)) bytes += section.size;
    return bytes;
}

Expected<CodeImage> link(const std::vector<LinkedKernel> &kernels, const targets::Target &target) {
    return Image(kernels, target).link();
}

} // namespace

const ObjectFormat &elf_objects() {
    static constexpr ObjectFormat format = {code_bytes_of, link, elf_static_object};
    return format;
}

} // namespace longwave::compiler
