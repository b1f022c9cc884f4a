// One product and those who compute it.
#pragma once
#include "formats/base/expected.h"
#include "schedules/contract/weight_formats.h"
#include "targets/target.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace longwave::bench {

// Floats on a cache line.
class Floats {
public:
    explicit Floats(size_t n) : memory_(n + 16) {
        first_ =
            memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64 / sizeof(float);
    }
    Floats(const Floats &) = delete;
    Floats &operator=(const Floats &) = delete;
    float *data() { return first_; }
    const float *data() const { return first_; }
    float &operator[](size_t i) { return first_[i]; }
    float operator[](size_t i) const { return first_[i]; }

private:
    std::vector<float> memory_;
    float *first_ = nullptr;
};

struct Product {
    Product(int in_, int out_, int rows_, bool gated_);
    int in, out, rows;
    bool gated;  // the weights' second half are those of the gates
    Floats x, w; // [rows][in], [outputs][in] as PyTorch has them
    size_t outputs() const { return static_cast<size_t>(out) * (gated ? 2 : 1); }
};

class Contestant {
public:
    explicit Contestant(std::string name_) : name(std::move(name_)) {}
    virtual ~Contestant() = default;
    virtual void run() = 0;
    // Null: this one has no result.
    virtual const float *result() const = 0;
    virtual size_t result_row() const = 0; // floats from one row of the result to the next
    // As this one has it, number `at` of the product's weights.
    virtual double weight(size_t at) const = 0;
    virtual size_t weight_bytes() const = 0; // that a call reads
    const std::string name;
    std::vector<double> times; // of each round
};

// A kernel of ours, named after the format of its weights.
struct Variant {
    schedules::WeightFormat format = schedules::WeightFormat::float32;
    bool float_activations = false; // where rows could be quantised
    bool byte_activations = false;  // rows of int8, not int16
    std::string name() const;
    friend bool operator==(const Variant &, const Variant &) = default;
};
Expected<std::unique_ptr<Contestant>> ours(const Product &product, const Variant &variant,
                                           const targets::Target &target, const std::string &kgen);
// `library`: a name, or NAME=FILE.
Expected<std::unique_ptr<Contestant>> blas(const Product &product, const std::string &library);
// Reads so many bytes and does nothing else.
std::unique_ptr<Contestant> reader(size_t bytes);
// Holds BLAS libraries to one thread and to the instructions of the target. Before the first of
// them is opened.
void restrict_blas(const targets::Target &target);

} // namespace longwave::bench
