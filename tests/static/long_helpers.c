/* Divisions and conversions of 64 bits, by the functions that the compiler calls for them. static_m55_test.py
 * writes the cases, and includes them from its command line. */
#include <stdint.h>
#include <stdio.h>

static const struct {
    uint64_t n, d, quotient, rest;
} divisions[] = {DIVISIONS};
static const struct {
    uint64_t n;
    double unsigned_value, signed_value;
    uint64_t back; /* of unsigned_value; 0: too large */
} numbers[] = {NUMBERS};

int main(void) {
    int wrong = 0;
    for (unsigned i = 0; i < sizeof divisions / sizeof *divisions; i++) {
        const volatile uint64_t n = divisions[i].n, d = divisions[i].d;
        wrong += n / d != divisions[i].quotient || n % d != divisions[i].rest;
    }
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const volatile uint64_t n = numbers[i].n;
        const volatile double x = numbers[i].unsigned_value;
        wrong += (double)n != x || (double)(int64_t)n != numbers[i].signed_value;
        wrong += numbers[i].back != 0 && (uint64_t)x != numbers[i].back;
    }
    printf("%u divisions and %u numbers of 64 bits, %d wrong\n",
           (unsigned)(sizeof divisions / sizeof *divisions), (unsigned)(sizeof numbers / sizeof *numbers),
           wrong);
    return wrong != 0;
}
