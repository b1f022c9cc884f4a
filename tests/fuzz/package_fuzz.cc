// Model packages: model.json, a zero byte, weights.safetensors. Where the second part begins with
// '{' its eight bytes of header length are put before it, so that a header can grow without
// becoming unreadable at once. What must hold: any bytes give a package or a Fault::input that
// lists a bounded number of clean lines; a package that was read lowers to a graph that verifies,
// or is refused in the same manner.
#include "compiler/ir/verify.h"
#include "compiler/layers/lower.h"
#include "formats/package/safetensors.h"
#include "tests/fuzz/must.h"
#include <algorithm>
#include <cstring>

using namespace longwave;
using fuzz::must;

namespace {

void refused(const Status &status) {
    if (status.fault() != Fault::input) std::fprintf(stderr, "%s\n", status.message().c_str());
    must(status.fault() == Fault::input, "a package from outside is never an internal failure");
    const std::string &text = status.message();
    must(!text.empty(), "a refusal says why");
    must(std::count(text.begin(), text.end(), '\n') <= 400, "the list of what is wrong is bounded");
    must(std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }),
         "names from outside are escaped in messages");
}

std::vector<uint8_t> with_length(const uint8_t *begin, const uint8_t *end) {
    const uint8_t *cut = std::find(begin, end, uint8_t{0});
    const uint64_t header = static_cast<uint64_t>(cut - begin);
    std::vector<uint8_t> bytes(8);
    std::memcpy(bytes.data(), &header, 8);
    bytes.insert(bytes.end(), begin, cut);
    bytes.insert(bytes.end(), cut == end ? end : cut + 1, end);
    return bytes;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = data + size, *cut = std::find(data, end, uint8_t{0});
    std::map<std::string, package::Tensor> weights;
    if (cut != end) {
        const uint8_t *begin = cut + 1;
        const std::vector<uint8_t> bytes =
            begin != end && *begin == '{' ? with_length(begin, end) : std::vector<uint8_t>(begin, end);
        auto read = package::parse_safetensors(bytes, "weights.safetensors");
        if (read) weights = *std::move(read);
        else refused(read.status());
    }
    const auto package = package::parse(std::string(data, cut), std::move(weights));
    if (!package) return refused(package.status()), 0;
    const auto graph = compiler::lower(*package);
    if (!graph) return refused(graph.status()), 0;
    const Status verified = ir::verify(*graph);
    if (!verified) std::fprintf(stderr, "%s\n", verified.message().c_str());
    must(bool(verified), "a package that lowers gives a sound graph");
    return 0;
}
