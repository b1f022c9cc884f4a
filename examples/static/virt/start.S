// Start of a 64-bit ARM machine without an operating system: stack, caches and the memory map, then
// main.
//
// Kernels read and write vectors at any address. That is allowed in Normal memory alone, and
// without a memory map all memory is Device memory: on real hardware such an access would fault. So
// this maps 4 GiB one to one: the first as devices, the rest as Normal memory. Choose the
// attributes of your board's map likewise.
    .section .text.start, "ax"
    .globl _start
_start:
    mov x0, #(3 << 20)          // CPACR_EL1.FPEN: floating point and NEON are on
    msr cpacr_el1, x0
    ldr x0, =0x04ff             // attribute 0: Normal, write-back; attribute 1: Device-nGnRE
    msr mair_el1, x0
    ldr x0, =map
    msr ttbr0_el1, x0
    ldr x0, =(32 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23) // 4 GiB by TTBR0, cached, inner shareable; TTBR1 is off
    msr tcr_el1, x0
    isb
    tlbi vmalle1
    ic iallu
    dsb sy
    isb
    mrs x0, sctlr_el1
    mov x1, #(1 | 1 << 2 | 1 << 12) // memory map, data cache, instruction cache
    orr x0, x0, x1
    msr sctlr_el1, x0
    isb
    ldr x0, =stack_top
    mov sp, x0
    ldr x0, =bss_begin
    ldr x1, =bss_end
1:  cmp x0, x1
    b.hs 2f
    str xzr, [x0], #8
    b 1b
2:  bl main
3:  wfi
    b 3b

    .section .rodata.map, "a"
    .balign 4096
map:                            // blocks of 1 GiB: valid, accessed; shareable where Normal
    .quad 0x00000000 | 1 << 10 | 1 << 2 | 1 | 3 << 53 // devices; no code
    .quad 0x40000000 | 1 << 10 | 3 << 8 | 1
    .quad 0x80000000 | 1 << 10 | 3 << 8 | 1
    .quad 0xc0000000 | 1 << 10 | 3 << 8 | 1
