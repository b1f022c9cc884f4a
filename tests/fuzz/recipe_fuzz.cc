// Recipes of weights: any bytes break rule V22, or copy inside the weights. They are held against the
// plan of a small model.
#include "formats/artifact/geometry.h"
#include "formats/artifact/recipe.h"
#include "formats/artifact/recipe_schema.h"
#include "tests/fuzz/must.h"
#include "tests/support/tiny_model.h"
#include <cstring>
#include <memory>

using namespace longwave;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const std::vector<uint8_t> file = test::audio_model().bytes();
    const fb::Plan &plan = *fb::GetPlan(file.data() + artifact::header_bytes);
    std::vector<uint64_t> copy((size + 7) / 8); // 8-aligned
    if (size > 0) memcpy(copy.data(), data, size);
    const artifact::Bytes segment{reinterpret_cast<const uint8_t *>(copy.data()), size};
    const fb::Recipe *recipe = nullptr;
    const artifact::Broken broken = artifact::open_recipe(plan, segment, &recipe);
    must(bool(broken) == (recipe == nullptr), "a recipe is given exactly when nothing is broken");
    if (broken) return must(broken.rule == 22 && *broken.text, "a refusal names its rule"), 0;
    uint64_t all = 0;
    std::vector<FloatArray> tensors;
    for (const fb::RecipeTensor *tensor : *recipe->tensors()) {
        uint64_t n = 1;
        for (uint32_t d = 0; d < artifact::count(tensor->shape()); ++d) n *= tensor->shape()->Get(d);
        if ((all += n) > 1u << 22) return 0; // as many numbers as a file of weights has to bring
        tensors.emplace_back(std::vector<float>(n, 1.0f));
    }
    std::vector<uint8_t> weights(plan.weights_bytes());
    artifact::follow(*recipe, tensors, weights.data());
    return 0;
}
