// Which variant of each kernel a device takes (formats/artifact/modules.fbs): the fastest by the
// device's clock, or what was found the last time.
#pragma once
#include "formats/artifact/modules.h"
#include "runtime/core/memory.h"
#include "runtime/vulkan/device/gpu.h"

namespace longwave::runtime::vulkan {

// Of one kernel. All zero: its first module, not timed.
struct Choice {
    uint32_t number = 0;                    // of the variant
    float us[artifact::most_variants] = {}; // time per dispatch of each; 0: not timed
};

// Of every kernel of a plan, in the model's memory.
class Choices {
public:
    // Measuring and real parts, as everywhere.
    void lay_out(const fb::Plan &plan, Parts &parts);
    // Reads what an earlier opening found. False: nothing, or of another file.
    bool recall(const Gpu &gpu, const artifact::ModulesView &modules, const uint8_t *artifact);
    void keep(const Gpu &gpu, const uint8_t *artifact) const;

    Choice &operator[](uint32_t kernel) { return list_[kernel]; }
    const Choice &operator[](uint32_t kernel) const { return list_[kernel]; }
    uint32_t count() const { return n_; }
    // Of the numbers: the same for the same code.
    void hash(uint8_t (&digest)[artifact::hash_bytes]) const;

private:
    Choice *list_ = nullptr;
    uint32_t n_ = 0;
};

} // namespace longwave::runtime::vulkan
