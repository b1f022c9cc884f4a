/* listen AUDIO.wav: the program where there is an operating system. 16 kHz, 16 bits, one
 * channel. */
#include "listen.h"
#include <stdio.h>

void put_text(const char *text) { fputs(text, stdout); }
void put_number(uint64_t number) { printf("%llu", (unsigned long long)number); }

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: listen AUDIO.wav\n"), 2;
    FILE *file = fopen(argv[1], "rb");
    if (!file || fseek(file, 44, SEEK_SET) != 0) return perror(argv[1]), 1;
    listen_sizes();
    if (listen_begin()) return 1;
    int16_t samples[1600];
    size_t n;
    while ((n = fread(samples, sizeof *samples, sizeof samples / sizeof *samples, file)) > 0)
        if (listen_to(samples, n)) return 1;
    return fclose(file) == 0 ? 0 : 1;
}
