// lw_vulkan_get_variants: what was chosen when the model was opened.
#include "runtime/core/memory.h"
#include "runtime/core/model.h"
#include "runtime/vulkan/device/failure.h"
#include "runtime/vulkan/library/calls.h"
#include "runtime/vulkan/model/model.h"
#include <string.h>

using namespace longwave::runtime;
using namespace longwave::runtime::vulkan;

namespace {

lw_vulkan_variants describe(const Model &model, uint32_t kernel) {
    const Choice &choice = model.pipelines.choices()[kernel];
    lw_vulkan_variants found{};
    found.kernel = model.plan().kernels()->Get(kernel)->spec()->c_str();
    found.n = model.modules.variants_of(kernel);
    found.chosen = choice.number;
    static_assert(sizeof found.us == sizeof choice.us);
    memcpy(found.us, choice.us, sizeof found.us);
    return found;
}

} // namespace

lw_status lw_vulkan_get_variants(const lw_model *model, lw_vulkan_variants *list, size_t *n) {
    if (!n) return fail(LW_INVALID_ARGUMENT, "n is NULL");
    const size_t room = *n;
    *n = 0;
    if (room > 0 && (!list || list->struct_size < sizeof(size_t)))
        return fail(LW_INVALID_ARGUMENT, "list is NULL, or its struct_size is not set");
    if (!model || !model->asked || model->asked->calls != &vulkan::calls)
        return fail(LW_INVALID_ARGUMENT, "the model was not opened on a Vulkan device");
    const Model &opened = model_of(*model->on_device);
    const size_t step = list ? list->struct_size : 0;
    for (uint32_t k = 0; k < opened.pipelines.choices().count(); ++k) {
        if (!opened.pipelines[k].pipeline || opened.modules.variants_of(k) < 2) continue;
        if (*n < room) {
            auto *element =
                reinterpret_cast<lw_vulkan_variants *>(reinterpret_cast<uint8_t *>(list) + *n * step);
            element->struct_size = step;
            copy_sized(element, describe(opened, k));
        }
        ++*n;
    }
    return *n <= room ? LW_OK : fail(LW_TOO_SMALL, "%zu kernels with variants, room for %zu", *n, room);
}
