/* The board that qemu emulates as `mps3-an547`: a recording in place of a microphone, words as text
 * of semihosting. Replace the bodies by those of your board. */
#include "board.h"

extern const int16_t recording[], recording_end[];
static const int16_t *next_sample = recording;

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

int board_start(void) { return 0; }

size_t board_samples(int16_t *samples, size_t n) {
    size_t given = 0;
    while (given < n && next_sample < recording_end) samples[given++] = *next_sample++;
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
