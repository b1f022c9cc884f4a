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

/* Where text goes: of main.c and board.c, with put_text of a machine. */
void put_text(const char *text);
void put_number(uint64_t number);
/* A machine's, without an operating system: the end of the program. qemu ends with this exit
 * code. */
void board_end(int code);
