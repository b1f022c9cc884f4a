// Libraries that are loaded while the program runs.
#pragma once

namespace longwave::platform {

extern const char *const vulkan_library; // the Vulkan loader, as the system names it

// Null: there is none of this name.
void *open_library(const char *name);
// A function of the library; null: it has none of this name.
void *find_function(void *library, const char *name);
void close_library(void *library);

} // namespace longwave::platform
