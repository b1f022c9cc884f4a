#include "runtime/model/linked_kernels.h"
#include "formats/artifact/abi.h"
#include "formats/artifact/hash.h"
#include "runtime/core/status.h"

namespace longwave::runtime {

lw_status link_kernels(lw_model &model, const lw_model_kernels *kernels, Function *table) {
    const fb::CodeVariant &variant = *model.variant;
    const char *name = model.plan().name()->c_str();
    if (!kernels)
        return fail(LW_NO_CODE, {"the file of ", name,
                                 " contains no code: set lw_open_options.kernels to the table that "
                                 "`longwave compile --no-code` wrote with it"});
    lw_model_kernels given;
    if (lw_status status = read_options(kernels, &given, "lw_open_options.kernels")) return status;
    if (given.n > 0 && !given.list)
        return fail(LW_INVALID_ARGUMENT, "lw_open_options.kernels: the list is NULL");
    bool fits =
        artifact::equal_hash(given.code, variant.image()->data()) && given.n == variant.scratch()->size();
    const uint8_t *at = reinterpret_cast<const uint8_t *>(given.list);
    for (uint32_t k = 0; fits && k < given.n; ++k) {
        lw_model_kernel kernel;
        uint8_t hash[artifact::hash_bytes];
        artifact::kernel_hash(*model.plan().kernels()->Get(k), hash);
        fits = read_sized(reinterpret_cast<const lw_model_kernel *>(at), &kernel) && kernel.function &&
               artifact::equal_hash(hash, kernel.hash) && kernel.scratch_bytes <= variant.scratch()->Get(k);
        at += kernel.struct_size;
        table[k] = reinterpret_cast<Function>(kernel.function);
    }
    if (!fits)
        return fail(LW_NO_CODE, {"lw_open_options.kernels is not of the file of ", name,
                                 ": use the table that `longwave compile --no-code` wrote with it"});
    model.code.use(table);
    return LW_OK;
}

} // namespace longwave::runtime
