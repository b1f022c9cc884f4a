// A preload that shows a driver of Mesa a GPU where there is none. It answers what the driver asks of
// the kernel at the border of the C library, so that the driver makes a device, compiles pipelines
// and takes all other calls. Nothing is computed: memory holds zeros, and every submission ends at
// once.
//     LD_PRELOAD=SHIM.so LONGWAVE_SHIM=CHIP PROGRAM
// shim.c is what all drivers ask. A file for each kind of driver has the functions below. Source of
// numbers and structs: the headers of libdrm, the kernel's public interface.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xf86drm.h>

// ---- what a driver's file has ----

// What libdrm says of device number `number`, whose nodes are there already; its strings stay valid.
// Returns 0 where there are no more.
int shim_describe(int number, drmDevice *device);
// The name of the driver in the kernel.
const char *shim_driver(void);
// An ioctl of the driver, without DRM_COMMAND_BASE.
int shim_answer(unsigned number, void *data);

// ---- what it may use ----

// The value of LONGWAVE_SHIM; "" where there is none.
static inline const char *shim_chip(void) {
    const char *name = getenv("LONGWAVE_SHIM");
    return name ? name : "";
}
// Buffers of the device are handles with a size; a buffer gets room in a sparse file at the first
// call of shim_place.
uint32_t shim_new_buffer(uint64_t size);
uint64_t shim_place(uint32_t handle);
