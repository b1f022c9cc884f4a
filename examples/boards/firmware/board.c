/* The board that qemu emulates as `mps3-an547`: a recording in place of a microphone, words as text
 * of semihosting. Replace the bodies by those of your board. */
#include "board.h"

extern const int16_t recording[], recording_end[];

static void semihosting(uint32_t operation, const void *parameter) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}
static void put(const char *text) { semihosting(0x04, text); }
static void put_number(uint32_t number) {
    char digits[11], *at = digits + 10;
    *at = 0;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    put(at);
}
static void leave(uint32_t code) {
    const uint32_t block[2] = {0x20026, code};
    semihosting(0x20, block);
    for (;;) {
    }
}

/* ---- samples ----
 * DMA writes into a ring of two halves and interrupts after each of them. The program reads the half
 * that is complete, while DMA fills the other one. */
enum { half = 160 }; /* samples: 10 ms */
static int16_t ring[2][half];
static volatile uint32_t filled; /* halves, by the interrupt */
static volatile uint32_t taken;  /* halves, by the program */

/* A DMA interrupt is its second line alone, and clears the flag of its device. Here the timer copies
 * a half of the recording first. It waits for the program, which DMA does not. */
static const int16_t *volatile next_sample = recording;
void board_interrupt(void) {
    if (filled != taken || next_sample == recording_end) return;
    const int16_t *from = next_sample;
    for (size_t i = 0; i < half; i++) ring[filled % 2][i] = from < recording_end ? *from++ : 0;
    next_sample = from;
    filled++;
}

int board_start(void) {
    volatile uint32_t *const timer = (volatile uint32_t *)0xE000E010;
    timer[1] = 10000; /* reload value */
    timer[2] = 0;
    timer[0] = 7; /* on, with interrupts, by the clock of the CPU */
    return 0;
}

size_t board_samples(int16_t *samples, size_t n) {
    static size_t at; /* in the half that is read */
    for (;;) {
        const int over =
            next_sample == recording_end; /* before `filled`, which the interrupt changes with it */
        if (filled != taken) break;
        if (over) return 0;
        __asm__ volatile("wfi");
    }
    size_t given = 0;
    while (given < n && at < half) samples[given++] = ring[taken % 2][at++];
    if (filled - taken > 1) board_fail("samples were lost: the program is too slow for the microphone");
    if (at == half) at = 0, taken++;
    return given;
}

void board_word(const char *word, unsigned percent, uint32_t ms) {
    put_number(ms);
    put(" ms  ");
    put(word);
    put("  ");
    put_number(percent);
    put(" %\n");
}

void board_speech(uint32_t start_ms, uint32_t end_ms) {
    put_number(start_ms);
    put(" ms to ");
    put_number(end_ms);
    put(" ms\n");
}

void board_fail(const char *why) {
    put(why);
    put("\n");
    leave(1);
}
void board_end(void) { leave(0); }

/* All that the library asks for besides. The compiler's options keep it from making calls of these
 * functions of themselves. */
void *memset(void *to, int value, size_t n) {
    for (unsigned char *at = to; n > 0; n--) *at++ = (unsigned char)value;
    return to;
}
void *memmove(void *to, const void *from, size_t n) {
    unsigned char *t = to;
    const unsigned char *f = from;
    if (t > f)
        while (n-- > 0) t[n] = f[n];
    else
        while (n-- > 0) *t++ = *f++;
    return to;
}
void *memcpy(void *to, const void *from, size_t n) { return memmove(to, from, n); }
