// Blocks of several streams at once on the CPU (Device::run_batch).
#pragma once
#include "runtime/core/device.h"

namespace longwave::runtime {

uint32_t batch_streams(const ModelSource &source);
uint64_t batch_bytes(const ModelSource &source);
void begin_batch(const DeviceModel &model, uint8_t *memory, Batch **out);
lw_status run_batch(Batch &batch, uint32_t entry, const BatchMember *members, uint32_t n);

} // namespace longwave::runtime
