#include "tests/fuzz/pack_shape.h"
#include "formats/artifact/recipe_schema.h"
#include "tests/support/tiny_model.h"
#include <array>
#include <memory>

namespace longwave::fuzz {

std::vector<uint8_t> pack_shape() {
    test::Draft draft = test::audio_model();
    fb::RecipeT recipe;
    recipe.golden_from = fb::GoldenFrom::reference;
    auto taps = std::make_unique<fb::RecipeTensorT>();
    taps->name = "taps";
    taps->shape = {test::audio_taps};
    recipe.tensors.push_back(std::move(taps));
    const std::array<uint32_t, 4> counts{test::audio_taps, 1, 1, 1};
    const std::array<int32_t, 4> steps{1, 0, 0, 0};
    recipe.copies = {fb::Copy(0, 0, counts, steps, steps, 0, fb::CopyElem::f32, false)};
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Recipe::Pack(builder, &recipe), fb::RecipeIdentifier());
    const uint8_t *bytes = builder.GetBufferPointer();
    draft.segments.push_back({fb::SegmentKind::recipe, {bytes, bytes + builder.GetSize()}});
    const uint16_t run = 2;
    test::add_golden(draft, run, 16, 1e-3f);
    return draft.bytes();
}

std::string pack_weights() {
    std::string header = R"({"taps":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    return file + header + std::string(test::audio_taps * sizeof(float), '\x3e');
}

} // namespace longwave::fuzz
