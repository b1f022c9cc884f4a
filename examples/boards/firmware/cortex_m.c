/* Reset of a Cortex-M with floating point. Interrupts of your board belong after the sixteen
 * exceptions of the table. The last of these, the timer SysTick, stands for the interrupt of DMA. */
#include "board.h"

extern unsigned char data_begin[], data_end[], data_in_flash[], bss_begin[], bss_end[], stack_top[];
int main(void);

static void reset(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xfu << 20; /* CPACR: floating point and Helium on */
    __asm__ volatile("dsb\n isb" ::: "memory");
    volatile unsigned char *to = data_begin;
    for (const unsigned char *from = data_in_flash; to < data_end; to++, from++) *to = *from;
    for (to = bss_begin; to < bss_end; to++) *to = 0;
    main();
    board_fail("main returned");
}

static void fault(void) { board_fail("a fault of the CPU"); }

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
                                                                              board_interrupt};
