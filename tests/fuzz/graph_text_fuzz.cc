// The text form of graphs (compiler/ir/text.h). What must hold: any text gives a graph or
// Fault::input; a graph that was read prints as a text that reads back as the same graph; whatever
// is read, the verifier has an answer.
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "tests/fuzz/must.h"
#include <cstdint>

using namespace longwave;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const auto graph = ir::parse(std::string(reinterpret_cast<const char *>(data), size));
    if (!graph) {
        must(graph.status().fault() == Fault::input, "text from outside is never an internal failure");
        must(!graph.status().message().empty(), "a refusal says why");
        return 0;
    }
    const Status verified = ir::verify(*graph);
    must(verified || !verified.message().empty(), "the verifier says what is broken");
    const std::string printed = ir::print(*graph);
    const auto again = ir::parse(printed);
    if (!again) std::fprintf(stderr, "%s\n%s\n", printed.c_str(), again.status().message().c_str());
    must(bool(again), "what was printed can be read");
    must(ir::print(*again) == printed, "print(parse(text)) is the text it was printed as");
    must(bool(ir::verify(*again)) == bool(verified), "a graph is as sound after printing as before");
    return 0;
}
