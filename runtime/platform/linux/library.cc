#include "runtime/platform/library.h"
#include <dlfcn.h>

namespace longwave::platform {

const char *const vulkan_library = "libvulkan.so.1";

void *open_library(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
void *find_function(void *library, const char *name) { return dlsym(library, name); }
void close_library(void *library) { dlclose(library); }

} // namespace longwave::platform
