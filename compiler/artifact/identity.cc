#include "compiler/artifact/identity.h"
#include "compiler/ir/text.h"
#include "formats/artifact/hash.h"

namespace longwave::compiler {

std::array<uint8_t, 32> identity_of(const ir::Graph &graph) {
    std::string text = ir::print(graph);
    uint8_t hash[artifact::hash_bytes];
    for (const ir::Constant &constant : graph.constants) {
        const auto floats = constant.data.floats();
        const auto doubles = constant.data.doubles();
        if (floats.empty()) artifact::hash(doubles.data(), doubles.size_bytes(), hash);
        else artifact::hash(floats.data(), floats.size_bytes(), hash);
        text.append(std::begin(hash), std::end(hash));
    }
    artifact::hash(text.data(), text.size(), hash);
    return std::to_array(hash);
}

} // namespace longwave::compiler
