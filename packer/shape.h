// A compiled model that takes other weights: a private copy of its bytes, changed where they lie. The
// plan keeps its size, so every offset stays.
#pragma once
#include "formats/artifact/view.h"
#include "formats/base/expected.h"
#include "formats/package/package.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace longwave::fb {
struct Recipe;
} // namespace longwave::fb

namespace longwave::packer {

using Tensors = std::map<std::string, package::Tensor>;

class Shape {
public:
    // Copies the bytes. Fault::input: they break a rule of the format, or have no recipe.
    static Expected<Shape> of(std::span<const uint8_t> bytes);

    // Writes the weights that follow from the tensors, and their identity. Without a signature
    // afterwards. Fault::input names every tensor that is missing, foreign, of another shape, or not
    // finite.
    Status take(const Tensors &tensors);
    // Where an expected output of a golden vector lies, to be written. renew() follows.
    float *golden_values(uint64_t offset);
    void renew(); // the hashes of everything that changed
    // After renew(). `make`: the signature (64 bytes) of the root hash (32 bytes). Fault::usage: it cannot.
    Status sign(std::span<const uint8_t, 32> key, uint64_t version,
                const std::function<bool(const uint8_t *root, uint8_t *signature)> &make);

    const artifact::View &view() const { return view_; }
    std::span<const uint8_t> bytes() const { return {bytes_.get(), size_}; }
    size_t tensors() const; // of the recipe

private:
    Shape() = default;
    // Puts the header in its place, with the root hash of header and plan.
    void set_header(artifact::Header header);
    uint8_t *segment(const fb::Segment &of) { return bytes_.get() + of.offset(); }

    std::shared_ptr<uint8_t> bytes_; // 64-aligned
    size_t size_ = 0;
    artifact::View view_;
    fb::Recipe *recipe_ = nullptr;
};

} // namespace longwave::packer
