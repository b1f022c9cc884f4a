#include "compiler/codegen/elf_relocation.h"
#include "formats/artifact/features.h"
#include <cstring>
#include <elf.h>
#include <fmt/format.h>

namespace longwave::compiler {
namespace {

// A number inside an instruction or beside it: where its bits are differs, what it means does not.
enum class Field {
    unknown,
    word32,
    word64,
    arm_branch,   // 24 bits, counted in 4 bytes
    arm_move,     // 16 bits of movw and movt
    thumb_branch, // 24 bits, counted in 2 bytes
    thumb_move,   // 16 bits of movw and movt
    a64_branch,   // 26 bits, counted in 4 bytes
    a64_page,     // 21 bits, counted in 4,096 bytes
    a64_in_page,  // 12 bits, counted in what the instruction moves
};

struct Rule {
    Field field = Field::unknown;
    unsigned shift = 0; // bits of the value below those that are stored
};

constexpr Rule rule_of_x86_64(uint32_t type) {
    switch (type) {
    case R_X86_64_PC32:
    case R_X86_64_PLT32: return {Field::word32};
    case R_X86_64_PC64: return {Field::word64};
    }
    return {};
}

constexpr Rule rule_of_aarch64(uint32_t type) {
    switch (type) {
    case R_AARCH64_PREL32: return {Field::word32};
    case R_AARCH64_PREL64: return {Field::word64};
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: return {Field::a64_branch, 2};
    case R_AARCH64_ADR_PREL_PG_HI21: return {Field::a64_page, 12};
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return {Field::a64_in_page, 0};
    case R_AARCH64_LDST16_ABS_LO12_NC: return {Field::a64_in_page, 1};
    case R_AARCH64_LDST32_ABS_LO12_NC: return {Field::a64_in_page, 2};
    case R_AARCH64_LDST64_ABS_LO12_NC: return {Field::a64_in_page, 3};
    case R_AARCH64_LDST128_ABS_LO12_NC: return {Field::a64_in_page, 4};
    }
    return {};
}

constexpr Rule rule_of_arm(uint32_t type) {
    switch (type) {
    case R_ARM_REL32: return {Field::word32};
    case R_ARM_CALL:
    case R_ARM_JUMP24: return {Field::arm_branch, 2};
    case R_ARM_MOVW_PREL_NC: return {Field::arm_move, 0};
    case R_ARM_MOVT_PREL: return {Field::arm_move, 16};
    case R_ARM_THM_PC22: // of bl
    case R_ARM_THM_JUMP24: return {Field::thumb_branch, 1};
    case R_ARM_THM_MOVW_PREL_NC: return {Field::thumb_move, 0};
    case R_ARM_THM_MOVT_PREL: return {Field::thumb_move, 16};
    }
    return {};
}

Expected<Rule> rule_of(uint32_t type, uint16_t machine, size_t bytes) {
    const Rule rule = machine == artifact::machine_x86_64    ? rule_of_x86_64(type)
                      : machine == artifact::machine_aarch64 ? rule_of_aarch64(type)
                      : machine == artifact::machine_arm     ? rule_of_arm(type)
                                                             : Rule{};
    if (rule.field == Field::unknown)
        return Status::internal(
            fmt::format("a kernel object has relocations of type {}: they need an address", type));
    if (bytes < (rule.field == Field::word64 ? 8 : 4))
        return Status::internal("a relocation of a kernel object lies outside its section");
    return rule;
}

template <class T> T load(std::span<const uint8_t> bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

template <class T> void store(std::span<uint8_t> bytes, T value) {
    std::memcpy(bytes.data(), &value, sizeof value);
}

constexpr uint32_t bits(uint32_t value, unsigned low, unsigned count) {
    return value >> low & ((1u << count) - 1);
}

constexpr int64_t extended(uint64_t value, unsigned count) {
    return static_cast<int64_t>(value << (64 - count)) >> (64 - count);
}

// Thumb instructions are two halves. Branches store two bits of their number mixed with its sign.
uint32_t thumb(std::span<const uint8_t> bytes) {
    return uint32_t{load<uint16_t>(bytes)} << 16 | load<uint16_t>(bytes.subspan(2));
}

uint32_t thumb_branch_bits(uint32_t in) {
    const uint32_t sign = bits(in, 26, 1), high = ~(bits(in, 13, 1) ^ sign) & 1,
                   low = ~(bits(in, 11, 1) ^ sign) & 1;
    return sign << 23 | high << 22 | low << 21 | bits(in, 16, 10) << 11 | bits(in, 0, 11);
}

uint32_t with_thumb_branch_bits(uint32_t in, uint32_t value) {
    const uint32_t sign = bits(value, 23, 1), high = ~(bits(value, 22, 1) ^ sign) & 1,
                   low = ~(bits(value, 21, 1) ^ sign) & 1;
    return (in & 0xf800d000u) | sign << 26 | bits(value, 11, 10) << 16 | high << 13 | low << 11 |
           bits(value, 0, 11);
}

uint32_t with_bits(uint32_t in, uint32_t value, unsigned low, unsigned count) {
    const uint32_t mask = ((1u << count) - 1) << low;
    return (in & ~mask) | (value << low & mask);
}

// How far the stored number reaches: its bits, with the sign. 0: the rest is stored elsewhere.
unsigned reach(Field field) {
    switch (field) {
    case Field::word32: return 32;
    case Field::arm_branch:
    case Field::thumb_branch: return 24;
    case Field::a64_branch: return 26;
    case Field::a64_page: return 21;
    default: return 0;
    }
}

// The bits that are not stored must be zero.
bool in_units(Field field) {
    return field == Field::arm_branch || field == Field::thumb_branch || field == Field::a64_branch ||
           field == Field::a64_in_page;
}

void put(Field field, uint64_t value, std::span<uint8_t> bytes) {
    const uint32_t low = static_cast<uint32_t>(value);
    if (field == Field::word64) return store(bytes, value);
    if (field == Field::word32) return store(bytes, low);
    if (field == Field::thumb_branch || field == Field::thumb_move) {
        uint32_t in = thumb(bytes);
        if (field == Field::thumb_branch) in = with_thumb_branch_bits(in, low);
        else
            in = with_bits(
                with_bits(with_bits(with_bits(in, low >> 12, 16, 4), low >> 11, 26, 1), low >> 8, 12, 3), low,
                0, 8);
        store(bytes, static_cast<uint16_t>(in >> 16));
        return store(bytes.subspan(2), static_cast<uint16_t>(in));
    }
    const uint32_t in = load<uint32_t>(bytes);
    switch (field) {
    case Field::arm_branch: return store(bytes, with_bits(in, low, 0, 24));
    case Field::arm_move: return store(bytes, with_bits(with_bits(in, low >> 12, 16, 4), low, 0, 12));
    case Field::a64_branch: return store(bytes, with_bits(in, low, 0, 26));
    case Field::a64_page: return store(bytes, with_bits(with_bits(in, low, 29, 2), low >> 2, 5, 19));
    case Field::a64_in_page: return store(bytes, with_bits(in, low, 10, 12));
    default: return;
    }
}

} // namespace

Expected<int64_t> addend_of(const ElfRelocation &relocation, uint16_t machine,
                            std::span<const uint8_t> bytes) {
    LW_ASSIGN(const Rule rule, rule_of(relocation.type, machine, bytes.size()));
    if (!relocation.addend_in_place) return relocation.addend;
    switch (rule.field) { // those of 32-bit machines
    case Field::word32: return int64_t{load<int32_t>(bytes)};
    case Field::arm_branch: return extended(uint64_t{bits(load<uint32_t>(bytes), 0, 24)} << 2, 26);
    case Field::arm_move: {
        const uint32_t in = load<uint32_t>(bytes);
        return extended(bits(in, 16, 4) << 12 | bits(in, 0, 12), 16);
    }
    case Field::thumb_branch: return extended(uint64_t{thumb_branch_bits(thumb(bytes))} << 1, 25);
    case Field::thumb_move: {
        const uint32_t in = thumb(bytes);
        return extended(bits(in, 16, 4) << 12 | bits(in, 26, 1) << 11 | bits(in, 12, 3) << 8 | bits(in, 0, 8),
                        16);
    }
    default: return Status::internal("a kernel object keeps an addend where none is expected");
    }
}

Status relocate(uint32_t type, uint16_t machine, uint64_t target, uint64_t place, std::span<uint8_t> bytes) {
    LW_ASSIGN(const Rule rule, rule_of(type, machine, bytes.size()));
    uint64_t value = target - place;
    if (rule.field == Field::a64_page) value = (target & ~uint64_t{4095}) - (place & ~uint64_t{4095});
    if (rule.field == Field::a64_in_page) value = target & 4095; // an image begins at a page
    // The lowest bit of a Thumb function's address is a mark. All code of an image has the same.
    if (rule.field == Field::thumb_branch) value &= ~uint64_t{1};
    if (in_units(rule.field) && value & ((uint64_t{1} << rule.shift) - 1))
        return Status::internal("a relocation of a kernel object points between instructions");
    const int64_t stored = static_cast<int64_t>(value) >> rule.shift;
    const unsigned limit = reach(rule.field);
    if (limit && extended(static_cast<uint64_t>(stored), limit) != stored)
        return Status::internal("the code of a model is too large for the branches of its processor");
    put(rule.field, static_cast<uint64_t>(stored), bytes);
    return Status::ok();
}

} // namespace longwave::compiler
