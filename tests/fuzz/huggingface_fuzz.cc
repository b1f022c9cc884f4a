// config.json of a folder of transformers. What must hold: any bytes give a configuration or a
// Fault::input that lists a bounded number of clean lines. A configuration whose tensors are small
// is given tensors of the right shapes: it lowers to a graph that verifies, or is refused in the same manner.
#include "formats/base/checked.h"
#include "formats/huggingface/build.h"
#include "tests/fuzz/model_folder.h"

using namespace longwave;

namespace {

constexpr uint64_t most_numbers = 1 << 18; // of all tensors together: enough for every form of a model
constexpr size_t most_tensors = 200;

// Tensors of these shapes; none where they are many or large.
std::map<std::string, package::Tensor> made(const std::map<std::string, std::vector<uint64_t>> &shapes) {
    std::map<std::string, package::Tensor> tensors;
    uint64_t left = most_numbers;
    for (const auto &[key, shape] : shapes) {
        uint64_t n = 1;
        for (const uint64_t extent : shape)
            if (!checked::mul(n, extent, &n)) return {};
        if (n > left || tensors.size() >= most_tensors) return {};
        left -= n;
        tensors[key] = {shape, FloatArray(std::vector<float>(n, 0.25f))};
    }
    return tensors;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    const auto config = huggingface::read_config(text, "config.json");
    if (!config) fuzz::must_be_refused(config.status());
    else fuzz::must_lower(huggingface::build(*config, made(huggingface::tensors_of(*config))));
    return 0;
}
