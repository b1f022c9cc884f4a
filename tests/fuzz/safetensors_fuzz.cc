// weights.safetensors alone. What must hold: any bytes give tensors whose values are as many as
// their shapes say, or a Fault::input of clean lines.
#include "formats/package/safetensors.h"
#include "tests/fuzz/refusal.h"

using namespace longwave;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const auto tensors = package::parse_safetensors({data, size}, "weights.safetensors");
    if (!tensors) {
        must(tensors.status().fault() == Fault::input, "weights from outside are never an internal failure");
        fuzz::must_be_clean(tensors.status().message());
        return 0;
    }
    for (const auto &[name, tensor] : *tensors) {
        uint64_t values = 1;
        for (const auto extent : tensor.shape) values *= static_cast<uint64_t>(extent);
        must(values == tensor.data.size(), "a tensor has the values that its shape says");
    }
    return 0;
}
