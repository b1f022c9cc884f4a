#include "packer/shape.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/recipe.h"
#include "formats/artifact/recipe_schema.h"
#include "formats/artifact/verify.h"
#include "formats/artifact/weights_identity.h"
#include "formats/package/problems.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

namespace longwave::packer {

namespace {

Status broken_rule(const artifact::Broken &broken) {
    if (broken.no_memory) return Status::device("not enough memory to check the compiled model");
    return Status::input("the compiled model breaks rule V" + std::to_string(broken.rule) + ": " +
                         broken.text + " " + std::to_string(broken.a) + ", " + std::to_string(broken.b));
}

std::vector<uint64_t> shape_of(const fb::RecipeTensor &tensor) {
    if (!tensor.shape()) return {};
    return {tensor.shape()->begin(), tensor.shape()->end()};
}

bool finite(const FloatArray &numbers) {
    bool all = true;
    in_pieces(numbers, [&](size_t, std::span<const float> piece) {
        for (const float number : piece) all &= std::isfinite(number);
    });
    return all;
}

// The schema has no mutators: a field of the plan is changed where it lies in our own copy.
uint8_t *bytes_in(const flatbuffers::Vector<uint8_t> &vector) { return const_cast<uint8_t *>(vector.data()); }

} // namespace

Expected<Shape> Shape::of(std::span<const uint8_t> bytes) {
    Shape shape;
    const size_t whole = (bytes.size() + 63) / 64 * 64;
    shape.bytes_.reset(static_cast<uint8_t *>(std::aligned_alloc(64, std::max<size_t>(whole, 64))),
                       std::free);
    if (!shape.bytes_) return Status::device("not enough memory for the compiled model");
    std::memcpy(shape.bytes_.get(), bytes.data(), bytes.size());
    shape.size_ = bytes.size();
    artifact::Request request;
    request.file = shape.bytes_.get();
    request.size = shape.size_;
    request.memory_limit = UINT64_MAX; // the runtime has its own
    if (const artifact::Broken broken = artifact::verify(request, &shape.view_)) return broken_rule(broken);
    for (const fb::Segment *segment : *shape.view_.plan().segments())
        if (segment->kind() == fb::SegmentKind::recipe) {
            const artifact::Bytes recipe{shape.segment(*segment), segment->size()};
            const fb::Recipe *opened = nullptr;
            if (const artifact::Broken broken = artifact::open_recipe(shape.view_.plan(), recipe, &opened))
                return broken_rule(broken);
            shape.recipe_ = fb::GetMutableRecipe(shape.segment(*segment));
        }
    if (!shape.recipe_)
        return Status::input("the compiled model does not say how its weights follow from the tensors: "
                             "compile it with --pack");
    return shape;
}

size_t Shape::tensors() const { return recipe_->tensors()->size(); }

Status Shape::take(const Tensors &tensors) {
    package::Problems problems;
    std::vector<FloatArray> numbers;
    std::set<std::string> known;
    for (const fb::RecipeTensor *expected : *recipe_->tensors()) {
        const std::string name = expected->name()->str();
        known.insert(name);
        const auto found = tensors.find(name);
        if (found == tensors.end()) {
            problems.line("tensor " + package::in_quotes(name) + " is missing");
            continue;
        }
        if (found->second.shape != shape_of(*expected))
            problems.line("tensor " + package::in_quotes(name) + " has the shape " +
                          package::shape_text(found->second.shape) + ", expected " +
                          package::shape_text(shape_of(*expected)));
        else if (!finite(found->second.data))
            problems.line("tensor " + package::in_quotes(name) + " has numbers that are not finite");
        numbers.push_back(found->second.data);
    }
    for (const auto &[name, tensor] : tensors)
        if (!known.contains(name))
            problems.line("tensor " + package::in_quotes(name) + " is none of the model");
    LW_TRY(problems.status());
    recipe_->mutate_golden_from(fb::GoldenFrom::run);

    for (const fb::Segment *of : *view_.plan().segments())
        if (of->kind() == fb::SegmentKind::weights) artifact::follow(*recipe_, numbers, segment(*of));
    if (const fb::StateIdentity *identity = view_.plan().identity()) {
        artifact::WeightsIdentity weights(recipe_->rounding() ? recipe_->rounding()->str() : "");
        for (uint32_t i = 0; recipe_->parameters() && i < recipe_->parameters()->size(); ++i) {
            const fb::RecipeParameter &parameter = *recipe_->parameters()->Get(i);
            const uint32_t t = parameter.tensor();
            weights.add(parameter.name()->str(),
                        artifact::identified(shape_of(*recipe_->tensors()->Get(t)), numbers[t]));
        }
        const auto digest = weights.digest();
        std::memcpy(bytes_in(*identity->weights()), digest.data(), digest.size());
    }
    renew();
    return Status::ok();
}

float *Shape::golden_values(uint64_t offset) {
    for (const fb::Segment *of : *view_.plan().segments())
        if (of->kind() == fb::SegmentKind::golden) return reinterpret_cast<float *>(segment(*of) + offset);
    return nullptr;
}

void Shape::renew() {
    for (const fb::Segment *of : *view_.plan().segments()) {
        if (of->kind() == fb::SegmentKind::code || of->kind() == fb::SegmentKind::modules) continue;
        uint8_t digest[artifact::hash_bytes];
        artifact::hash(segment(*of), of->size(), digest);
        std::memcpy(bytes_in(*of->hash()), digest, sizeof digest);
    }
    artifact::Header header;
    std::memcpy(&header, bytes_.get(), sizeof header);
    header.flags &= ~static_cast<uint32_t>(artifact::flag_signed);
    header.version = 0; // counts only under a signature
    std::memset(header.key, 0, sizeof header.key);
    std::memset(header.signature, 0, sizeof header.signature);
    set_header(header);
}

void Shape::set_header(artifact::Header header) {
    artifact::root_hash(header, bytes_.get() + header.plan_offset, header.root);
    std::memcpy(bytes_.get(), &header, sizeof header);
}

Status Shape::sign(std::span<const uint8_t, 32> key, uint64_t version,
                   const std::function<bool(const uint8_t *root, uint8_t *signature)> &make) {
    artifact::Header header = view_.header();
    header.flags |= artifact::flag_signed;
    header.version = version;
    std::memcpy(header.key, key.data(), sizeof header.key);
    set_header(header);
    header = view_.header();
    if (!make(header.root, header.signature)) return Status::usage("the signature could not be made");
    std::memcpy(bytes_.get(), &header, sizeof header);
    return Status::ok();
}

} // namespace longwave::packer
