#include "formats/artifact/layout.h"
#include "formats/artifact/geometry.h"

namespace longwave::artifact {

void layout_hash(const fb::Plan &plan, uint8_t (&out)[hash_bytes]) {
    const uint64_t bytes = plan.state_bytes();
    const uint32_t fields = count(plan.state());
    Hasher hasher;
    hasher.update(&bytes, sizeof bytes);
    hasher.update(&fields, sizeof fields);
    for (uint32_t i = 0; i < fields; ++i) {
        const fb::StateField &field = *plan.state()->Get(i);
        const uint8_t types[2] = {static_cast<uint8_t>(field.kind()), static_cast<uint8_t>(field.elem())};
        const uint32_t rank = field.dims()->size();
        const uint64_t offset = field.offset();
        hasher.update(field.layer()->c_str(), field.layer()->size() + 1);
        hasher.update(field.name()->c_str(), field.name()->size() + 1);
        hasher.update(types, sizeof types);
        hasher.update(&rank, sizeof rank);
        hasher.update(field.dims()->Data(), rank * sizeof(uint32_t));
        hasher.update(&offset, sizeof offset);
        const uint32_t by_channel[2] = {field.ring(), field.row()};
        if (field.ring() > 0) hasher.update(by_channel, sizeof by_channel); // older files have none
    }
    hasher.finish(out);
}

} // namespace longwave::artifact
