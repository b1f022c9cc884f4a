// config.json of a folder of transformers. What must hold: any bytes give a configuration or a
// Fault::input that lists a bounded number of clean lines. A configuration whose tensors are small
// is given tensors of the right shapes: it lowers to a graph that verifies, or is refused in the same manner.
#include "compiler/ir/verify.h"
#include "compiler/layers/lower.h"
#include "formats/base/checked.h"
#include "formats/huggingface/build.h"
#include "tests/fuzz/must.h"
#include <algorithm>
#include <cstdio>

using namespace longwave;
using fuzz::must;

namespace {

constexpr uint64_t most_numbers = 1 << 18; // of all tensors together: enough for every form of a model
constexpr size_t most_tensors = 200;

void refused(const Status &status) {
    if (status.fault() != Fault::input) std::fprintf(stderr, "%s\n", status.message().c_str());
    must(status.fault() == Fault::input, "a folder from outside is never an internal failure");
    const std::string &text = status.message();
    must(!text.empty(), "a refusal says why");
    must(std::count(text.begin(), text.end(), '\n') <= 400, "the list of what is wrong is bounded");
    must(std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }),
         "names from outside are escaped in messages");
}

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
    if (!config) return refused(config.status()), 0;
    const auto package = huggingface::build(*config, made(huggingface::tensors_of(*config)));
    if (!package) return refused(package.status()), 0;
    const auto graph = compiler::lower(*package);
    if (!graph) return refused(graph.status()), 0;
    const Status verified = ir::verify(*graph);
    if (!verified) std::fprintf(stderr, "%s\n", verified.message().c_str());
    must(bool(verified), "a folder that lowers gives a sound graph");
    return 0;
}
