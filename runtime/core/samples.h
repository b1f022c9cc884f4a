// What the caller pushes becomes rows of float32 or int32: conversion, and the checks on values
// from outside.
#pragma once
#include "formats/artifact/schema.h"
#include "longwave/longwave.h"
#include "runtime/core/device.h"
#include <cstddef>
#include <cstdint>

namespace longwave::runtime {

size_t sample_bytes(lw_sample_format format);

// Index of the first id outside 0 … vocabulary − 1, or n.
size_t first_bad_token(const void *ids, size_t n, uint32_t vocabulary);

// Rows `stride` bytes apart at `to`. Values that are not finite or beyond the limit become 0;
// returns how many.
uint64_t convert(const Samples &samples, uint8_t *to, uint64_t stride);

// How many floats are not finite in `rows` rows of n, `stride` bytes apart; *newest: in the last of
// them.
uint64_t count_non_finite(const uint8_t *values, uint64_t n, uint64_t rows, uint64_t stride,
                          uint64_t *newest);
// `rows` pieces of so many bytes.
void copy_rows(const uint8_t *from, uint64_t stride, uint8_t *to, uint64_t to_stride, uint64_t rows,
               uint64_t bytes);

} // namespace longwave::runtime
