/* Starts a program of newlib on qemu's mps3-an547, with the words of qemu's command line. Files and
 * the end of the program go through newlib's semihosting. Its own start would place heap and stack
 * in memory that this machine does not have.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

extern unsigned char __bss_start__[], __bss_end__[], end[], __stack[];
extern void initialise_monitor_handles(void);
extern int main(int argc, char **argv);

static uint32_t semihosting(uint32_t operation, const void *parameter) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void _fini(void) {} /* the library calls it at the end */

void *_sbrk(ptrdiff_t bytes) {
    static unsigned char *next = end;
    if (bytes > __stack - (1 << 20) - next) return (void *)-1;
    next += bytes;
    return next - bytes;
}

static void begin(void) {
    for (volatile uint32_t *at = (uint32_t *)__bss_start__; at < (uint32_t *)__bss_end__; at++) *at = 0;
    initialise_monitor_handles();
    static char line[4096];
    const struct {
        char *text;
        uint32_t bytes;
    } place = {line, sizeof line};
    if (semihosting(0x15, &place) != 0) exit(2);
    char *words[16];
    int n = 0;
    for (char *at = line; *at && n < 15;) {
        words[n++] = at;
        while (*at && *at != ' ') at++;
        if (*at) *at++ = 0;
    }
    words[n] = NULL;
    exit(main(n, words));
}

/* Floating point and Helium are off after a reset. No function that uses them may begin before. */
static void reset(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xfu << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
    begin();
}

static void fault(void) {
    for (;;) semihosting(0x18, (void *)0x20023);
}

__attribute__((section(".vectors"), used)) void (*const vectors[16])(void) = {(void (*)(void))__stack,
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
