/* A growing list of bytes, and a reader of one. Standard C, for machines of either word size. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *data;
    size_t size, room;
    int failed; /* no memory: what was put since is lost */
} Buffer;

static inline uint8_t *buffer_grow(Buffer *b, size_t n) {
    if (b->failed || n > SIZE_MAX / 4 - b->size) {
        b->failed = 1;
        return NULL;
    }
    if (b->size + n > b->room) {
        const size_t room = 2 * (b->size + n) + 64;
        uint8_t *data = (uint8_t *)realloc(b->data, room);
        if (!data) {
            b->failed = 1;
            return NULL;
        }
        b->data = data;
        b->room = room;
    }
    b->size += n;
    return b->data + b->size - n;
}
static inline void put(Buffer *b, const void *bytes, size_t n) {
    uint8_t *to = n > 0 ? buffer_grow(b, n) : NULL;
    if (to) memcpy(to, bytes, n);
}
static inline void put_u32(Buffer *b, uint32_t value) { put(b, &value, sizeof value); }
static inline void put_u64(Buffer *b, uint64_t value) { put(b, &value, sizeof value); }
static inline void put_f64(Buffer *b, double value) { put(b, &value, sizeof value); }
typedef struct {
    const uint8_t *at;
    size_t left;
    int failed; /* the message was too short */
} Reader;

/* The next n bytes, or NULL. */
static inline const uint8_t *take(Reader *r, uint64_t n) {
    if (r->failed || n > r->left) {
        r->failed = 1;
        return NULL;
    }
    const uint8_t *at = r->at;
    r->at += (size_t)n;
    r->left -= (size_t)n;
    return at;
}
static inline uint32_t take_u32(Reader *r) {
    uint32_t value = 0;
    const uint8_t *at = take(r, sizeof value);
    if (at) memcpy(&value, at, sizeof value);
    return value;
}
static inline uint64_t take_u64(Reader *r) {
    uint64_t value = 0;
    const uint8_t *at = take(r, sizeof value);
    if (at) memcpy(&value, at, sizeof value);
    return value;
}
