// The descriptor sets of a pool: for each frame one of every call and transfer.
#pragma once
#include "runtime/vulkan/stream/pool.h"

namespace longwave::runtime::vulkan {

// Makes them. The pool's buffers exist, and its tables and exchange buffer are laid out.
lw_status create_pool_sets(const Model &model, Pool &pool);

} // namespace longwave::runtime::vulkan
