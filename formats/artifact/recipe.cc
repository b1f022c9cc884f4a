#include "formats/artifact/recipe.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/recipe_schema.h"
#include "formats/artifact/rules.h"
#include <array>
#include <cstring>

namespace longwave::artifact {
namespace {

constexpr uint32_t loops = 4;
// So that no sum of four steps overflows: rule V22 holds counts to it.
constexpr uint64_t most_count = 1ull << 31;

uint64_t bytes_of(fb::CopyElem elem) { return elem == fb::CopyElem::f64 ? 8 : 4; }

// Elements of the tensor, or none: too many.
bool elements_of(const fb::RecipeTensor &tensor, uint64_t *elements) {
    uint64_t n = 1;
    for (uint32_t d = 0; d < count(tensor.shape()); ++d)
        if (!checked::mul(n, tensor.shape()->Get(d), &n) || n > cap::recipe_elements) return false;
    *elements = n;
    return true;
}

Broken tensors_rule(const fb::Recipe &recipe) {
    const auto &tensors = *recipe.tensors();
    if (tensors.size() > cap::tensors) return broken(22, "tensors of a recipe: found", tensors.size());
    for (uint32_t t = 0; t < tensors.size(); ++t) {
        uint64_t elements;
        if (count(tensors.Get(t)->shape()) > 16 || !elements_of(*tensors.Get(t), &elements))
            return broken(22, "elements of a recipe's tensor: tensor", t);
        if (t > 0 && !(tensors.Get(t - 1)->name()->string_view() < tensors.Get(t)->name()->string_view()))
            return broken(22, "names of a recipe's tensors do not ascend: tensor", t);
    }
    for (uint32_t p = 0; p < count(recipe.parameters()); ++p)
        if (recipe.parameters()->Get(p)->tensor() >= tensors.size())
            return broken(22, "tensor of a parameter: parameter", p);
    return {};
}

// Whether all elements that the loops reach lie in [0, size).
template <class Steps>
bool reaches_inside(uint64_t first, const fb::Copy &copy, const Steps &steps, uint64_t size) {
    if (first >= size) return false;
    int64_t low = static_cast<int64_t>(first), high = low; // below 2^40, and each loop adds less than 2^62
    for (uint32_t d = 0; d < loops; ++d) {
        int64_t reach;
        if (__builtin_mul_overflow(int64_t{copy.counts()->Get(d)} - 1, int64_t{steps.Get(d)}, &reach) ||
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    return low >= 0 && static_cast<uint64_t>(high) < size;
}

Broken copies_rule(const fb::Plan &plan, const fb::Recipe &recipe) {
    const auto &copies = *recipe.copies();
    if (copies.size() > cap::copies) return broken(22, "copies of a recipe: found", copies.size());
    uint64_t written = 0; // so that work is bounded by the size of the weights
    for (uint32_t c = 0; c < copies.size(); ++c) {
        const fb::Copy &copy = *copies.Get(c);
        if (copy.elem() != fb::CopyElem::f32 && copy.elem() != fb::CopyElem::f64)
            return broken(22, "element type of a copy: copy", c);
        if (copy.tensor() >= recipe.tensors()->size()) return broken(22, "tensor of a copy: copy", c);
        uint64_t bytes = bytes_of(copy.elem());
        for (uint32_t d = 0; d < loops; ++d) {
            const uint64_t n = copy.counts()->Get(d);
            if (n == 0 || n > most_count || !checked::mul(bytes, n, &bytes))
                return broken(22, "counts of a copy: copy", c);
        }
        if (!checked::add(written, bytes, &written) || written > plan.weights_bytes())
            return broken(22, "copies write more than the weights: copy", c);
        uint64_t elements = 0;
        if (!elements_of(*recipe.tensors()->Get(copy.tensor()), &elements) ||
            !reaches_inside(copy.from(), copy, *copy.from_steps(), elements))
            return broken(22, "a copy reads outside its tensor: copy", c);
        if (!reaches_inside(copy.to(), copy, *copy.to_steps(), plan.weights_bytes() / bytes_of(copy.elem())))
            return broken(22, "a copy writes outside the weights: copy", c);
    }
    return {};
}

template <class Number> void make(const fb::Copy &copy, const FloatArray &tensor, uint8_t *weights) {
    std::array<uint32_t, loops> n;
    std::array<int64_t, loops> from, to;
    for (uint32_t d = 0; d < loops; ++d) {
        n[d] = copy.counts()->Get(d);
        from[d] = copy.from_steps()->Get(d);
        to[d] = copy.to_steps()->Get(d);
    }
    const float sign = copy.negative() ? -1.0f : 1.0f;
    const auto at = [](uint64_t first, int64_t steps) { return first + static_cast<uint64_t>(steps); };
    for (uint32_t c = 0; c < n[3]; ++c)
        for (uint32_t b = 0; b < n[2]; ++b)
            for (uint32_t a = 0; a < n[1]; ++a) {
                uint64_t source = at(copy.from(), c * from[3] + b * from[2] + a * from[1]);
                uint64_t target = at(copy.to(), c * to[3] + b * to[2] + a * to[1]);
                for (uint32_t i = 0; i < n[0]; ++i) {
                    const auto number = static_cast<Number>(sign * tensor[source]);
                    memcpy(weights + target * sizeof number, &number, sizeof number);
                    source = at(source, from[0]);
                    target = at(target, to[0]);
                }
            }
}

} // namespace

Broken open_recipe(const fb::Plan &plan, const Bytes &segment, const fb::Recipe **out) {
    *out = nullptr;
    if (segment.size < 32 || segment.size > cap::recipe)
        return broken(22, "size of a recipe: bytes", segment.size);
    flatbuffers::Verifier::Options options;
    options.max_depth = 8;
    options.max_tables = static_cast<flatbuffers::uoffset_t>(segment.size / 8 + 64);
    options.check_nested_flatbuffers = false;
    flatbuffers::Verifier verifier(segment.data, segment.size, options);
    if (!fb::VerifyRecipeBuffer(verifier))
        return broken(22, "a recipe is not a well-formed flatbuffer: bytes", segment.size);
    const fb::Recipe &recipe = *fb::GetRecipe(segment.data);
    // The verifier aligns a vector's length but not its elements.
    if (reinterpret_cast<uintptr_t>(recipe.copies()->Data()) % alignof(uint64_t) != 0)
        return broken(22, "copies of a recipe are not aligned");
    for (uint32_t t = 0; t < recipe.tensors()->size(); ++t)
        if (const auto *shape = recipe.tensors()->Get(t)->shape();
            shape && reinterpret_cast<uintptr_t>(shape->Data()) % alignof(uint64_t) != 0)
            return broken(22, "a shape of a recipe is not aligned: tensor", t);
    if (recipe.golden_from() != fb::GoldenFrom::reference && recipe.golden_from() != fb::GoldenFrom::run)
        return broken(22, "origin of golden vectors: found", static_cast<uint64_t>(recipe.golden_from()));
    if (Broken b = tensors_rule(recipe)) return b;
    if (Broken b = copies_rule(plan, recipe)) return b;
    *out = &recipe;
    return {};
}

void follow(const fb::Recipe &recipe, std::span<const FloatArray> tensors, uint8_t *weights) {
    for (const fb::Copy *copy : *recipe.copies()) {
        const FloatArray &tensor = tensors[copy->tensor()];
        if (copy->elem() == fb::CopyElem::f64) make<double>(*copy, tensor, weights);
        else make<float>(*copy, tensor, weights);
    }
}

} // namespace longwave::artifact
