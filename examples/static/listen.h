/* Keywords in audio, with memory from static arrays. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Opens the model that the program contains. 0: it is ready. */
int listen_begin(void);
/* Listens to 16-bit samples at 16 kHz and writes a line for each keyword. 0: all went well. */
int listen_to(const int16_t *samples, size_t n);
/* Flash and memory of the model, a line each. */
void listen_sizes(void);

/* The board's: where text goes. */
void put_text(const char *text);
void put_number(uint64_t number);
