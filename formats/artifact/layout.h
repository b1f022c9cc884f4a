// The identity of a state's layout: a saved state loads where this is equal, whatever the block,
// code or machine.
#pragma once
#include "formats/artifact/hash.h"
#include "formats/artifact/schema.h"

namespace longwave::artifact {

// BLAKE2b-256 over: bytes of the state u64, number of fields u32, and for each field its layer, a
// zero byte, its name, a zero byte, kind u8, elem u8, rank u32, dims u32 …, offset u64.
void layout_hash(const fb::Plan &plan, uint8_t (&out)[hash_bytes]);

} // namespace longwave::artifact
