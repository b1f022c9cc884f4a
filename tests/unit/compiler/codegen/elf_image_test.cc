// Linking of kernel objects, against ld.lld: the same bytes from the same objects, for every kind
// of relocation that kernels of a machine have. Assembly says which relocations there are.
#include "compiler/base/process.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/codegen/code_image.h"
#include "compiler/codegen/elf_input.h"
#include "compiler/codegen/object_format.h"
#include "tests/support/lld_image.h"
#include <cstring>
#include <doctest/doctest.h>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <set>

namespace elf_image_test {

using namespace longwave;
using namespace longwave::compiler;

namespace {

struct Machine {
    std::string target, triple;
    std::string code; // of a kernel: ~ stands for its name
    std::set<uint32_t> relocations;
};

// Each kernel calls forwards and backwards, into the scratch allocator, and reads constants of its
// own and of others. Nothing refers to what is called unused. `both` is weak and in every object.
const std::string frame = R"(
    .section .text.unused_~,"ax",%progbits
    .p2align 4
unused_~: .byte 1,2,3,4
    .section .rodata.unused_~,"a",%progbits
    .quad 0x1122334455667788
    .section .rodata,"a",%progbits
    .globl table_~
    .byte 9
    .p2align 5
table_~: .long 1,2,3,4,5,6,7,8
    .byte 77
    .section .rodata.cst16,"aM",%progbits,16
    .p2align 4
.Lsixteen: .quad 5, 6
.Lother: .quad 7, 8
    .section .rodata.cst4,"aM",%progbits,4
    .p2align 2
.Lfour: .long 0x3f800000
.Lfive: .long 0x40000000
    .text
)";

const Machine machines[] = {
    {"x86-64-v3",
     "x86_64-linux-gnu",
     R"(
    .section .text.~_argv,"ax",%progbits
    .globl ~_argv
    .p2align 4
~_argv:
    call body_~
    mulss .Lfive(%rip), %xmm0
    vbroadcastss .Lfour(%rip), %ymm1
    paddd .Lother(%rip), %xmm0
    pshufb .Lsixteen(%rip), %xmm0
    cmpl $7, table_~+4(%rip)
    ret
    .section .text.body_~,"ax",%progbits
    .p2align 4
body_~:
    call both@PLT
    call halide_malloc@PLT
    lea distances_~(%rip), %rax
    lea table_a(%rip), %rdx
    jmp memset@PLT
    .section .text.both,"ax",%progbits
    .weak both
    .p2align 4
both: jmp memcpy@PLT
    .section .rodata.distances_~,"a",%progbits
    .p2align 3
distances_~: .quad body_~ - .
    .long ~_argv - .
)",
     {R_X86_64_PC32, R_X86_64_PLT32, R_X86_64_PC64}},
    {"arm64",
     "aarch64-linux-gnu",
     R"(
    .section .text.~_argv,"ax",%progbits
    .globl ~_argv
    .p2align 2
~_argv:
    bl body_~
    adrp x0, .Lother
    ldr q0, [x0, :lo12:.Lother]
    adrp x1, .Lfive
    ldr s1, [x1, :lo12:.Lfive]
    adrp x2, table_~+8
    ldr x3, [x2, :lo12:table_~+8]
    ldrh w3, [x2, :lo12:table_~+2]
    ldrb w3, [x2, :lo12:table_~+3]
    ret
    .section .text.body_~,"ax",%progbits
    .p2align 2
body_~:
    bl both
    bl halide_malloc
    adrp x0, distances_~
    mov x5, x6
    add x0, x0, :lo12:distances_~
    adrp x1, table_a
    mov x6, x7
    add x1, x1, :lo12:table_a
    b memset
    .section .text.both,"ax",%progbits
    .weak both
    .p2align 2
both: b memcpy
    .section .rodata.distances_~,"a",%progbits
    .p2align 3
distances_~: .quad body_~ - .
    .long ~_argv - .
)",
     {R_AARCH64_CALL26, R_AARCH64_JUMP26, R_AARCH64_ADR_PREL_PG_HI21, R_AARCH64_ADD_ABS_LO12_NC,
      R_AARCH64_LDST8_ABS_LO12_NC, R_AARCH64_LDST16_ABS_LO12_NC, R_AARCH64_LDST32_ABS_LO12_NC,
      R_AARCH64_LDST64_ABS_LO12_NC, R_AARCH64_LDST128_ABS_LO12_NC, R_AARCH64_PREL32, R_AARCH64_PREL64}},
    {"armv7",
     "armv7-linux-gnueabihf",
     R"(
    .syntax unified
    .section .text.~_argv,"ax",%progbits
    .globl ~_argv
    .p2align 2
    .type ~_argv, %function
~_argv:
    bl body_~
    movw r0, #:lower16:table_~-(.Lhere+8)
    movt r0, #:upper16:table_~-(.Lhere+8)
.Lhere: add r0, pc, r0
    ldr r1, .Ldistance
    bx lr
.Ldistance: .long table_a+12 - .
    .section .text.body_~,"ax",%progbits
    .p2align 2
    .type body_~, %function
body_~:
    bl both
    bl halide_malloc
    ldr r1, [pc]
    b memset
    .long distances_~ - .
    .section .text.both,"ax",%progbits
    .weak both
    .p2align 2
    .type both, %function
both: b memcpy
    .section .rodata.distances_~,"a",%progbits
    .p2align 2
distances_~: .long body_~ - .
    .long ~_argv - .
)",
     {R_ARM_CALL, R_ARM_JUMP24, R_ARM_MOVW_PREL_NC, R_ARM_MOVT_PREL, R_ARM_REL32}},
    {"cortex-m55",
     "thumbv8.1m.main-linux-gnueabihf",
     R"(
    .syntax unified
    .thumb
    .section .text.~_argv,"ax",%progbits
    .globl ~_argv
    .p2align 2
    .type ~_argv, %function
    .thumb_func
~_argv:
    bl body_~
    movw r0, #:lower16:table_~-(.Lhere+4)
    movt r0, #:upper16:table_~-(.Lhere+4)
.Lhere: add r0, pc
    movw r1, #:lower16:~_argv-(.There+4)
    movt r1, #:upper16:~_argv-(.There+4)
.There: add r1, pc
    bx lr
    .p2align 2
    .long table_a+12 - .
    .section .text.body_~,"ax",%progbits
    .p2align 2
    .type body_~, %function
    .thumb_func
body_~:
    bl both
    bl halide_malloc
    b.w memset
    .p2align 2
    .long distances_~ - .
    .section .text.both,"ax",%progbits
    .weak both
    .p2align 2
    .type both, %function
    .thumb_func
both: b.w memcpy
    .section .rodata.distances_~,"a",%progbits
    .p2align 2
distances_~: .long body_~ - .
    .long ~_argv - .
)",
     {R_ARM_THM_PC22, R_ARM_THM_JUMP24, R_ARM_THM_MOVW_PREL_NC, R_ARM_THM_MOVT_PREL, R_ARM_REL32}},
};

std::vector<uint8_t> assembled(const std::string &triple, std::string text, const std::string &name) {
    for (size_t at; (at = text.find('~')) != std::string::npos;) text.replace(at, 1, name);
    auto folder = TemporaryFolder::create();
    REQUIRE(folder);
    const std::string source = (folder->path() / "code.s").string(),
                      object = (folder->path() / "code.o").string();
    std::ofstream(source) << text;
    const auto run = run_process({"clang", "--target=" + triple, "-mfpu=neon",
                                  "-Wno-unused-command-line-argument", "-c", source, "-o", object});
    REQUIRE_MESSAGE(run, run.status().message());
    REQUIRE_MESSAGE(run->exit_code == 0, run->output);
    auto bytes = read_bytes(object);
    REQUIRE(bytes);
    return *std::move(bytes);
}

struct Linked {
    std::vector<std::vector<uint8_t>> objects;
    std::vector<LinkedKernel> kernels;
};

Linked three_kernels(const Machine &machine) {
    Linked made;
    for (const char *name : {"a", "b", "c"})
        made.objects.push_back(assembled(machine.triple, frame + machine.code, name));
    uint64_t scratch = 64;
    for (size_t i = 0; i < 3; i++)
        made.kernels.push_back({&made.objects[i], std::string(1, "abc"[i]) + "_argv", scratch *= 3});
    return made;
}

std::string failure(const std::vector<LinkedKernel> &kernels, const char *target = "x86-64-v3") {
    return link_image(kernels, *targets::find(target)).status().message();
}

std::string failure_of(const std::string &code) {
    const std::vector<uint8_t> object = assembled("x86_64-linux-gnu", R"(
    .section .text.a_argv,"ax",%progbits
    .globl a_argv
a_argv: )" + code + "\n",
                                                  "a");
    return failure({{&object, "a_argv", 0}});
}

} // namespace

TEST_CASE("elf image: every kind of relocation has the bytes of ld.lld") {
    for (const Machine &machine : machines) {
        CAPTURE(machine.target);
        const targets::Target &target = *targets::find(machine.target);
        Linked made = three_kernels(machine);
        std::set<uint32_t> seen;
        for (const auto &object : made.objects) {
            const auto read = read_elf(object, target.elf_machine);
            REQUIRE_MESSAGE(read, read.status().message());
            for (const ElfSection &section : read->sections)
                for (const ElfRelocation &relocation : section.relocations) seen.insert(relocation.type);
        }
        for (const uint32_t type : machine.relocations) CHECK_MESSAGE(seen.contains(type), type);
        for (auto &object : made.objects) test::do_not_merge(object);
        const auto ours = link_image(made.kernels, target);
        REQUIRE_MESSAGE(ours, ours.status().message());
        const auto theirs = test::lld_image(made.kernels, target);
        REQUIRE_MESSAGE(theirs, theirs.status().message());
        CHECK(test::first_difference(*ours, *theirs) == "");
    }
}

TEST_CASE("elf image: equal constants have one place, and each is found there") {
    Linked made = three_kernels(machines[0]);
    const targets::Target &target = *targets::find(machines[0].target);
    const auto merged = link_image(made.kernels, target);
    REQUIRE_MESSAGE(merged, merged.status().message());
    for (auto &object : made.objects) test::do_not_merge(object);
    const auto apart = link_image(made.kernels, target);
    REQUIRE(apart);
    CHECK(merged->bytes.size() < apart->bytes.size());
    // What the first four instructions behind the call read, in the order of the kernel's code.
    const auto reads = [](const CodeImage &image, size_t kernel) {
        std::vector<uint8_t> values;
        const size_t ends[] = {5 + 8, 5 + 8 + 9, 5 + 8 + 9 + 8, 5 + 8 + 9 + 8 + 9}, sizes[] = {4, 4, 16, 16};
        for (size_t i = 0; i < 4; i++) {
            const size_t end = image.entries[kernel] + ends[i];
            int32_t distance = 0;
            std::memcpy(&distance, image.bytes.data() + end - 4, 4);
            const size_t at = end + static_cast<size_t>(static_cast<int64_t>(distance));
            REQUIRE(at + sizes[i] <= image.bytes.size());
            values.insert(values.end(), image.bytes.begin() + static_cast<ptrdiff_t>(at),
                          image.bytes.begin() + static_cast<ptrdiff_t>(at + sizes[i]));
        }
        return values;
    };
    const std::vector<uint8_t> expected = {0, 0, 0, 0x40, 0, 0, 0x80, 0x3f, 7, 0, 0, 0, 0, 0,
                                           0, 0, 8, 0,    0, 0, 0,    0,    0, 0, 5, 0, 0, 0,
                                           0, 0, 0, 0,    6, 0, 0,    0,    0, 0, 0, 0};
    for (size_t kernel = 0; kernel < 3; kernel++) {
        CHECK(reads(*merged, kernel) == expected);
        CHECK(reads(*apart, kernel) == expected);
    }
}

TEST_CASE("elf image: what an image cannot hold is refused by name") {
    CHECK(failure_of("call elsewhere@PLT") == "the linked image leaves elsewhere undefined");
    CHECK(failure_of("lea here(%rip), %rax\n .data\nhere: .long 1") ==
          "the linked image has writable data in .data");
    CHECK(failure_of("lea here(%rip), %rax\n .bss\nhere: .skip 4") ==
          "a kernel uses .bss, which is not loaded");
    CHECK(failure_of("lea here(%rip), %rax\n .comm here,4,4") == "a kernel object has writable data");
    CHECK(failure_of("lea here(%rip), %rax\n .section .data.rel.ro,\"aw\"\nhere: .quad a_argv") ==
          "a kernel object has relocations of type 1: they need an address");
    CHECK(failure_of("mov halide_malloc@GOTPCREL(%rip), %rax") ==
          "a kernel object has relocations of type 42: they need an address");
    CHECK(failure_of("ret\n .p2align 6") == "a_argv is not a function aligned to 16 bytes");
    CHECK(failure_of("ret\n .globl halide_free\nhalide_free: ret") == "two kernels define halide_free");
    const std::vector<uint8_t> other = assembled("x86_64-linux-gnu", "ret", "a");
    CHECK(failure({{&other, "a_argv", 0}}) == "the linked image lacks a_argv");
    CHECK(failure({{&other, "a_argv", 0}}, "arm64") == "a kernel object is for another machine");
}

TEST_CASE("elf image: a branch that is too far is refused") {
    const std::vector<uint8_t> object = assembled("aarch64-linux-gnu", R"(
    .section .text.a_argv,"ax",%progbits
    .globl a_argv
a_argv: bl far
    .section .text.between,"ax",%progbits
between: bl far
    .skip 1 << 27
    .section .text.far,"ax",%progbits
far: b between
)",
                                                  "a");
    CHECK(failure({{&object, "a_argv", 0}}, "arm64") ==
          "the code of a model is too large for the branches of its processor");
}

TEST_CASE("elf image: objects that are cut short or damaged are refused, or link") {
    const std::vector<uint8_t> whole = assembled("x86_64-linux-gnu", frame + machines[0].code, "a");
    for (size_t n = 0; n < whole.size(); n++) {
        const std::vector<uint8_t> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n));
        CHECK(!failure({{&part, "a_argv", 0}}).empty()); // the sections come last
    }
    for (size_t n = 0; n < whole.size(); n++)
        for (const uint8_t value : {0x00, 0x01, 0xff}) {
            std::vector<uint8_t> damaged = whole;
            damaged[n] = value;
            (void)failure({{&damaged, "a_argv", 0}}); // ends, and reads nothing outside
        }
}

} // namespace elf_image_test
