/* What firmware needs of its board. board.c is where you begin: copy it, and replace the bodies. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* After reset() has prepared memory and turned on floating point. 0: ready. */
int board_start(void);
/* Waits for 16-bit mono samples at the rate of the model, and says how many there are: at most `n`.
 * 0: no more will come. */
size_t board_samples(int16_t *samples, size_t n);
/* The interrupt of the microphone's DMA, at each half of its ring. It calls nothing of the library. */
void board_interrupt(void);
/* A word was heard, so many milliseconds after the start. */
void board_word(const char *word, unsigned percent, uint32_t ms);
/* Somebody spoke from one time to another, in milliseconds after the start. */
void board_speech(uint32_t start_ms, uint32_t end_ms);
/* Nothing works any more; `why` is one line. Never returns. */
void board_fail(const char *why);
/* The end of the program, for boards that have one. */
void board_end(void);
