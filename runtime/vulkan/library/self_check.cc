// lw_vulkan_prove: runs the golden vectors on the device twice and remembers a success next to its
// pipelines.
#include "runtime/core/model.h"
#include "runtime/vulkan/device/failure.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/library/calls.h"
#include "runtime/vulkan/model/model.h"
#include <stddef.h>
#include <string.h>

using namespace longwave::runtime;
using namespace longwave::runtime::vulkan;

namespace {

Cache::Kind proof_on(const Gpu &gpu) {
    return gpu.shares_dispatches ? Cache::Kind::proof_of_chains : Cache::Kind::proof;
}

// What the cache holds of a success.
struct Proof {
    double worst = 0;
    uint8_t variants[longwave::artifact::hash_bytes] = {}; // of the kernels that computed it

    explicit Proof(const lw_model &model) { model_of(*model.on_device).pipelines.choices().hash(variants); }
};

bool remembered(const Gpu &gpu, const uint8_t *artifact, Proof *proof) {
    Block block;
    const uint8_t *data = nullptr;
    uint64_t bytes = 0;
    if (!gpu.cache.read(proof_on(gpu), artifact, gpu.allocator, &block, &data, &bytes)) return false;
    const bool good = bytes == sizeof *proof &&
                      memcmp(data + offsetof(Proof, variants), proof->variants, sizeof proof->variants) == 0;
    if (good) memcpy(&proof->worst, data, sizeof proof->worst);
    block.release(gpu.allocator);
    return good && proof->worst <= 1;
}

lw_status quarantine(const Gpu &gpu, bool unstable, const double *worst) {
    gpu.quarantined = true;
    if (unstable)
        return fail(LW_DEVICE_WRONG,
                    "%.100s is unstable: two runs of the golden vectors were %.3g and %.3g of their limits "
                    "away. The device is disabled until it is reopened: use another device or the CPU",
                    gpu.properties.deviceName, worst[0], worst[1]);
    return fail(
        LW_DEVICE_WRONG,
        "%.100s answers wrongly: %.3g of the golden vectors' limit away. The device is disabled until it "
        "is reopened: update its driver, or use another device or the CPU",
        gpu.properties.deviceName, worst[0] > worst[1] ? worst[0] : worst[1]);
}

lw_status prove(const Gpu &gpu, const lw_model *model, double *worst) {
    double away[2] = {};
    lw_status status[2] = {};
    for (int i = 0; i < 2; ++i) {
        status[i] = lw_model_verify(model, &away[i]);
        if (status[i] != LW_OK && status[i] != LW_CHECK_FAILED) return status[i];
    }
    *worst = away[0] > away[1] ? away[0] : away[1];
    if (status[0] == LW_OK && status[1] == LW_OK) return LW_OK;
    return quarantine(gpu, status[0] != status[1], away);
}

} // namespace

lw_status lw_vulkan_prove(const lw_model *model, int again, double *worst) {
    double ignored = 0;
    if (!worst) worst = &ignored;
    *worst = 0;
    if (!model || !model->asked || model->asked->calls != &vulkan::calls)
        return fail(LW_INVALID_ARGUMENT, "the model was not opened on a Vulkan device");
    const Gpu &gpu = gpu_of(model->asked);
    if (lw_status status = gpu.usable()) return status;
    const uint8_t *artifact = model->view.header().root;
    Proof proof(*model);
    if (!again && remembered(gpu, artifact, &proof)) {
        *worst = proof.worst;
        ++gpu.stats.remembered_proofs;
        return LW_OK;
    }
    ++gpu.proving; // results of the CPU would say nothing about the device
    const lw_status status = prove(gpu, model, worst);
    --gpu.proving;
    proof.worst = *worst;
    if (status == LW_OK) gpu.cache.write(proof_on(gpu), artifact, &proof, sizeof proof);
    return status;
}
