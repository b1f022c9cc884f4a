#include "runtime/core/options.h"
#include "runtime/core/status.h"

namespace longwave::runtime {

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

} // namespace longwave::runtime
