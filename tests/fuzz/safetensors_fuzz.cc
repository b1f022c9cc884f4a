// weights.safetensors alone. What must hold: any bytes give tensors whose values are as many as
// their shapes say, or a Fault::input of clean lines.
#include "formats/package/safetensors.h"
#include "tests/fuzz/must.h"
#include <algorithm>

using namespace longwave;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const auto tensors = package::parse_safetensors({data, size}, "weights.safetensors");
    if (!tensors) {
        const std::string &text = tensors.status().message();
        must(tensors.status().fault() == Fault::input, "weights from outside are never an internal failure");
        must(!text.empty() && std::count(text.begin(), text.end(), '\n') <= 400,
             "a refusal says why, in few lines");
        must(std::none_of(text.begin(), text.end(),
                          [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }),
             "names from outside are escaped in messages");
        return 0;
    }
    for (const auto &[name, tensor] : *tensors) {
        uint64_t values = 1;
        for (const auto extent : tensor.shape) values *= static_cast<uint64_t>(extent);
        must(values == tensor.data.size(), "a tensor has the values that its shape says");
    }
    return 0;
}
