#include "compiler/emit/identity.h"
#include "compiler/ir/text.h"
#include "formats/artifact/hash.h"

namespace longwave::compiler {

std::array<uint8_t, 32> identity_of(const ir::Graph &graph) {
    static_assert(artifact::hash_bytes == 32);
    std::string text = ir::print(graph);
    std::array<uint8_t, 32> hash{};
    for (const ir::Constant &constant : graph.constants) {
        artifact::hash(constant.data->data(), constant.data->size() * sizeof(double), hash.data());
        text.append(hash.begin(), hash.end());
    }
    artifact::hash(text.data(), text.size(), hash.data());
    return hash;
}

} // namespace longwave::compiler
