/* qemu's machine `mps3-an547`, a Cortex-M55: start, text and the end of the program through
 * semihosting. */
#include "../listen.h"

extern unsigned char bss_begin[], bss_end[], stack_top[];
int main(void);

static void semihosting(uint32_t operation, const void *parameter) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void put_text(const char *text) { semihosting(0x04, text); }

void board_end(int code) {
    const uint32_t block[2] = {0x20026, (uint32_t)code};
    semihosting(0x20, block);
    for (;;) {
    }
}

/* Floating point and Helium are off after a reset: CPACR turns them on, before any function that
 * uses them. */
static void reset(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xfu << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
    for (volatile uint32_t *at = (uint32_t *)bss_begin; at < (uint32_t *)bss_end; at++) *at = 0;
    board_end(main());
}

static void fault(void) {
    put_text("fault\n");
    board_end(1);
}

__attribute__((section(".vectors"), used)) void (*const vectors[16])(void) = {(void (*)(void))stack_top,
                                                                              reset,
                                                                              fault,
                                                                              fault,
                                                                              fault,
                                                                              fault,
                                                                              fault,
                                                                              fault,
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              fault,
                                                                              fault,
                                                                              0,
                                                                              fault,
                                                                              fault};
