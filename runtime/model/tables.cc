#include "runtime/model/tables.h"
#include "runtime/model/info.h"
#include <cstring>

namespace longwave::runtime {

Function *lay_out_tables(lw_model &model, Parts &parts) {
    const uint32_t kernels = model.plan().kernels()->size();
    Function *functions = parts.take<Function>(kernels);
    if (functions) memset(functions, 0, kernels * sizeof(Function)); // those of a GPU alone stay so
    model.streams.build(model.plan(), model.device->kind, parts);
    build_infos(model, parts);
    return functions;
}

} // namespace longwave::runtime

void longwave::runtime::let_go(const lw_model &used) {
    if (used.users.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    lw_model *model = const_cast<lw_model *>(&used); // nobody else knows it any more
    const lw_allocator allocator = model->allocator;
    if (model->on_device) model->device->close(model->on_device);
    model->code.unload();
    model->tables.release(allocator);
    model->file.release(allocator);
    if (model->mapping) model->unmap(model->mapping, model->artifact_bytes);
    allocator.release(allocator.context, model, sizeof *model);
}

void lw_model_close(lw_model *model) {
    if (model) longwave::runtime::let_go(*model);
}
