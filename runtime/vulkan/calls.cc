// A GPU as a device: the seam of runtime/device.h.
#include "runtime/vulkan/failure.h"
#include "runtime/vulkan/model.h"
#include "runtime/vulkan/session.h"

namespace longwave::runtime::vulkan {
namespace {

const uint8_t *derived(const DeviceModel &) { return nullptr; } // it lies on the device

// Only streams copy and rebuild, and no session of theirs begins here.
void copy(Session &, const Session &, const Area &) {}
lw_status rebuild(Session &, uint32_t, uint32_t, uint64_t) {
    return fail(LW_UNSUPPORTED, "streams do not run on a GPU yet");
}

} // namespace

const Device calls = {fb::DeviceKind::gpu,
                      model_needs,
                      open_model,
                      close_model,
                      derived,
                      session_bytes,
                      begin_session,
                      end_session,
                      clear,
                      copy,
                      write,
                      read,
                      put,
                      run,
                      rebuild};

} // namespace longwave::runtime::vulkan
