// A .nam file as the amplifier of examples/lv2 reads it: the file, then perhaps a zero and the map of a
// shape. What must hold: any bytes give a capture or a reason of printable ASCII; a capture fits and gives
// weights, or nothing is handed over. Without a map it is that of plugin_seeds.h, and the weights are then a
// safetensors file with the tensors of this map.
#include "examples/lv2/capture.h"
#include "formats/package/safetensors.h"
#include "tests/fuzz/must.h"
#include "tests/fuzz/plugin_seeds.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace longwave;
using fuzz::must;

namespace {

void must_be_printable(const char *text) {
    const size_t n = strnlen(text, REASON);
    must(n < REASON, "a text ends");
    must(std::all_of(text, text + n, [](char c) { return c >= 0x20 && c <= 0x7e; }), "a text is printable");
}

void check_weights(const Fitted &fitted, bool foreign_map) {
    must(fitted.rate >= 1000 && fitted.rate <= 768000, "a capture that fits has a rate");
    const auto *bytes = static_cast<const uint8_t *>(fitted.weights);
    const auto tensors = package::parse_safetensors({bytes, fitted.bytes}, "the weights");
    if (foreign_map) return; // its names and shapes may be anything
    must(tensors && tensors->size() == 2, "the weights have the tensors of the map");
    must(tensors->at("a").shape == std::vector<uint64_t>{2, 1}, "tensors have the shapes of the map");
    must(tensors->at("b").shape == std::vector<uint64_t>{2}, "tensors have the shapes of the map");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const std::string own_map = fuzz::capture_map();
    const auto *bytes = reinterpret_cast<const char *>(data), *end = bytes + size;
    const auto *zero = std::find(bytes, end, '\0');
    char why[REASON] = "";
    Capture *capture = capture_parse(bytes, static_cast<size_t>(zero - bytes), why);
    must_be_printable(why);
    must((why[0] == 0) == (capture != nullptr), "a refusal says why");
    if (!capture) return 0;
    must_be_printable(capture_text(capture));
    const bool foreign = zero != end;
    const std::string map = foreign ? std::string(zero + 1, end) : own_map;
    Fitted fitted;
    const int fits = capture_fits(capture, map.data(), map.size(), &fitted, why);
    must_be_printable(why);
    must((fits != 0) == (fitted.weights != nullptr), "weights are handed over, or the capture does not fit");
    must(!fits || why[0] == 0, "a capture that fits has no reason");
    if (fits) check_weights(fitted, foreign);
    std::free(fitted.weights);
    capture_free(capture);
    return 0;
}
