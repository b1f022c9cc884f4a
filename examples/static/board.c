/* The program's main where there is no operating system, three functions of memory, and a table of
 * sizes. The machine's own part is in virt/ and m55/.
 */
#include "listen.h"
#include <kws12.h>

extern const int16_t audio[], audio_end[];
extern unsigned char text_begin[], text_end[], rodata_begin[], rodata_end[], data_begin[], data_end[],
    bss_begin[], bss_end[], stack_top[];

void put_number(uint64_t number) {
    char digits[21], *at = digits + 20;
    *at = 0;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    put_text(at);
}

/* All that the library asks for. The barrier keeps the compiler from calling the function that it
 * compiles. A real board has faster ones. */
#define BARRIER __asm__ volatile("" ::: "memory")
void *memset(void *to, int value, size_t n) {
    unsigned char *t = to;
    for (; n > 0; n--, t++) {
        *t = (unsigned char)value;
        BARRIER;
    }
    return to;
}
void *memmove(void *to, const void *from, size_t n) {
    unsigned char *t = to;
    const unsigned char *f = from;
    if (t > f)
        while (n-- > 0) {
            t[n] = f[n];
            BARRIER;
        }
    else
        for (; n > 0; n--, t++, f++) {
            *t = *f;
            BARRIER;
        }
    return to;
}
void *memcpy(void *to, const void *from, size_t n) { return memmove(to, from, n); }

/* The stack is filled with a pattern first. How much of it changed is what the program used. */
enum { pattern = 0x5a };
static void paint_stack(void) {
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    for (volatile unsigned char *at = bss_end; (uintptr_t)at < here - 256; at++) *at = pattern;
}
static uint64_t stack_used(void) {
    const unsigned char *at = bss_end;
    while (at < stack_top && *at == pattern) at++;
    return (uint64_t)(stack_top - at);
}

static void line(const char *what, uint64_t bytes) {
    put_text(what);
    put_number(bytes);
    put_text("\n");
}

int main(void) {
    paint_stack();
    listen_sizes();
    const uint64_t memory = LONGWAVE_KWS12_MODEL_BYTES + LONGWAVE_KWS12_SPOTTER_BYTES;
    const uint64_t variables = (uint64_t)(data_end - data_begin) + (uint64_t)(bss_end - bss_begin);
    const uint64_t code = (uint64_t)(text_end - text_begin);
    line("flash  runtime and this program     ", code - LONGWAVE_KWS12_CODE_BYTES);
    const uint64_t recording = (uint64_t)((unsigned char *)audio_end - (unsigned char *)audio);
    const uint64_t texts = (uint64_t)(rodata_end - rodata_begin) - LONGWAVE_KWS12_CONSTANT_BYTES - recording;
    line("flash  texts and the memory map     ", texts);
    line("flash  all but plan, weights, tables ", code + texts);
    line("memory other variables              ", variables - memory);
    int result = listen_begin();
    if (!result) result = listen_to(audio, (size_t)(audio_end - audio));
    line("memory stack, at most               ", stack_used());
    line("memory all                          ", variables + stack_used());
    board_end(result);
    return result;
}
