// lw_pack: other weights for a shape. The input is the number of bytes of the weights (2), the weights, and a
// shape; without one, the shape is a small sound model. What must hold: any weights, and any well-formed
// shape around known code, give a file that opens and keeps its golden vectors, or a status with its reason,
// within the caller's memory limit.
#include "formats/artifact/verify.h"
#include "longwave/longwave.h"
#include "longwave/pack.h"
#include "tests/fuzz/known_code.h"
#include "tests/fuzz/pack_shape.h"
#include "tests/fuzz/plan_mutator.h"
#include "tests/fuzz/refusal.h"
#include <algorithm>
#include <cstring>
#include <memory>

using namespace longwave;
using fuzz::must;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
    __attribute__((weak)); // libFuzzer's own; not there in a replay

namespace {

constexpr size_t head = 2; // bytes of the number

size_t weights_bytes(const uint8_t *data, size_t size) {
    return size < head ? 0 : std::min<size_t>(data[0] | data[1] << 8, size - head);
}

// Code of others never runs.
bool may_be_opened(const std::vector<uint8_t> &shape) {
    std::unique_ptr<uint8_t, void (*)(void *)> copy(
        static_cast<uint8_t *>(std::aligned_alloc(64, (shape.size() + 64) / 64 * 64)), std::free);
    must(copy != nullptr, "memory");
    std::memcpy(copy.get(), shape.data(), shape.size());
    artifact::Request request;
    request.file = copy.get();
    request.size = shape.size();
    artifact::View view;
    return artifact::verify(request, &view) || fuzz::test_kernels().may_run(view);
}

void pack(const std::vector<uint8_t> &shape, const uint8_t *weights, size_t bytes) {
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1;
    open.memory_limit = 1 << 20;
    lw_pack_options how = LW_PACK_OPTIONS_INIT;
    how.open = &open;
    lw_pack_report report = LW_PACK_REPORT_INIT;
    void *out = nullptr;
    size_t size = 0;
    const lw_status status = lw_pack(shape.data(), shape.size(), weights, bytes, &how, &report, &out, &size);
    must((status == LW_OK) == (out != nullptr), "a file is given exactly when packing succeeds");
    if (status != LW_OK) return fuzz::must_be_clean(lw_last_error());
    must(size == shape.size(), "the plan keeps its size");
    lw_model *model = nullptr;
    must(lw_model_open_memory(out, size, &open, &model) == LW_OK, "the new file opens");
    double worst = 0;
    must(lw_model_verify(model, &worst) == LW_OK && worst == report.worst,
         "the new file keeps its golden vectors");
    lw_model_close(model);
    lw_pack_free(out);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const std::vector<uint8_t> sound = fuzz::pack_shape();
    if (size < head) return 0;
    const size_t bytes = weights_bytes(data, size);
    std::vector<uint8_t> shape(data + head + bytes, data + size);
    if (shape.empty()) shape = sound;
    else fuzz::renew_hashes(shape);
    // Exactly as long as the weights: what is read behind their end is noticed.
    const std::vector<uint8_t> weights(data + head, data + head + bytes);
    if (may_be_opened(shape)) pack(shape, weights.data(), weights.size());
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    const size_t begin = head + weights_bytes(data, size);
    if (seed % 2 == 0 && size > begin) {
        const std::vector<uint8_t> other = fuzz::mutated_plan({data + begin, data + size}, seed);
        if (!other.empty() && begin + other.size() <= max_size) {
            std::memcpy(data + begin, other.data(), other.size());
            return begin + other.size();
        }
    }
    if (seed % 4 != 1 || size <= begin) return LLVMFuzzerMutate(data, size, max_size);
    // The weights alone: behind them the shape moves.
    const std::vector<uint8_t> shape(data + begin, data + size);
    const size_t room = std::min<size_t>(max_size - shape.size() - head, UINT16_MAX),
                 bytes = LLVMFuzzerMutate(data + head, begin - head, room);
    std::memcpy(data + head + bytes, shape.data(), shape.size());
    data[0] = static_cast<uint8_t>(bytes), data[1] = static_cast<uint8_t>(bytes >> 8);
    return head + bytes + shape.size();
}
