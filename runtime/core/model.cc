#include "runtime/core/model.h"
#include "runtime/core/status.h"

namespace longwave::runtime {

lw_status Budget::allows(const char *what, uint64_t bytes) const {
    if (bytes <= limit && used <= limit - bytes) return LW_OK;
    return refuse(what, bytes < UINT64_MAX - used ? used + bytes : UINT64_MAX);
}

lw_status Budget::refuse(const char *what, uint64_t needed) const {
    return fail(LW_NO_MEMORY, {"rule V20: ", what, " needs ", needed,
                               " bytes with all that is open, lw_open_options.memory_limit is ", limit,
                               given ? "" : " (the default for a file of this size)"});
}

lw_status check_options(const void *options, size_t struct_size, size_t known, const char *name) {
    switch (fault_of_options(options, struct_size, known)) {
    case OptionsFault::none: return LW_OK;
    case OptionsFault::unset: return fail(LW_INVALID_ARGUMENT, {"struct_size of ", name, " is not set"});
    case OptionsFault::too_long:
        return fail(LW_INVALID_ARGUMENT,
                    {"struct_size of ", name, " is ", uint64_t{struct_size},
                     ", which no header says; set it with the initialiser of the struct"});
    case OptionsFault::unknown_field: break;
    }
    return fail(LW_INVALID_ARGUMENT, {name, " sets a field that this library does not know: the struct has ",
                                      uint64_t{known}, " bytes here and ", uint64_t{struct_size},
                                      " in your header; update the library, or leave the field 0"});
}

bool runs(const lw_model &model, const fb::Entry &entry) {
    return planned_for(entry, fb::EntryKind::run, model.device->kind);
}

const fb::Entry *largest_run(const lw_model &model) {
    const fb::Entry *largest = nullptr;
    for (const fb::Entry *entry : *model.plan().entries())
        if (runs(model, *entry) && (!largest || entry->block() > largest->block())) largest = entry;
    return largest;
}

} // namespace longwave::runtime
