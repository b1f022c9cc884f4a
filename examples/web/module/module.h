/* What the modules of a page share. The compiler's header of the model comes first (-include
 * MODEL.h), with MODEL as its symbol and PREFIX as that of its macros. All memory is in static
 * arrays, but for the weights, which lie behind everything else, and what more_memory gives. */
#pragma once
#include <longwave/longwave.h>
#include <stddef.h>

#define EXPORT(name) __attribute__((export_name(#name)))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define SIZE(what) JOIN(PREFIX, what)

/* Opens the model with the weights that the page has written to weights(). `memory` is as for
 * lw_model_open_static_weights. */
lw_status open_model(void *memory, size_t bytes, lw_model **out);

/* Memory behind the weights, aligned to 64 bytes, and always at the same place. NULL: the browser
 * gives no more. */
void *more_memory(size_t bytes);
