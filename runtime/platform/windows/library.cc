#include "runtime/platform/library.h"
#include "runtime/platform/windows/names.h"

namespace longwave::platform {

const char *const vulkan_library = "vulkan-1.dll";

// Never from the current folder, where anybody may have left a file of this name.
void *open_library(const char *name) {
    const WideText wide(name);
    return wide.text() ? LoadLibraryExW(wide.text(), nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS) : nullptr;
}
void *find_function(void *library, const char *name) {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
}
void close_library(void *library) { FreeLibrary(static_cast<HMODULE>(library)); }

} // namespace longwave::platform
