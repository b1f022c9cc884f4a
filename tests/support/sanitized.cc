// Part of every program of a build with AddressSanitizer. Drivers stay loaded, so that the leak
// checker knows whose memory it finds. Mesa's software driver loses 128 bytes per instance, and the
// validation layer keeps more.
extern "C" {

__attribute__((visibility("default"))) int dlclose(void *) { return 0; }

__attribute__((visibility("default"))) const char *__lsan_default_suppressions() {
    return "leak:libvulkan_lvp\nleak:libVkLayer_khronos_validation\n";
}
}
