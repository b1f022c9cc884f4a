// Kernels as the runtime sees them: compiled by longwave-kgen, linked into an image, copied into
// anonymous memory, called with plain buffers.
#pragma once
#include "compiler/codegen/kernel_cache.h"
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include "targets/target.h"
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::kernels {

// One argument's memory; all values are kept as the element type and read as double. Sums of
// references read elements one by one: get() and set() are inline.
class Tensor {
public:
    Tensor() = default;
    explicit Tensor(const schedules::KernelArg &arg);
    double get(std::span<const int> at) const {
        const uint8_t *p = place(at);
        if (arg_.elem == schedules::Elem::f64) return *reinterpret_cast<const double *>(p);
        if (arg_.elem == schedules::Elem::i32) return *reinterpret_cast<const int32_t *>(p);
        return *reinterpret_cast<const float *>(p);
    }
    void set(std::span<const int> at, double value) {
        uint8_t *p = place(at);
        if (arg_.elem == schedules::Elem::f64) *reinterpret_cast<double *>(p) = value;
        else if (arg_.elem == schedules::Elem::i32)
            *reinterpret_cast<int32_t *>(p) = static_cast<int32_t>(value);
        else *reinterpret_cast<float *>(p) = static_cast<float>(value);
    }
    double get(std::initializer_list<int> at) const { return get(std::span(at.begin(), at.size())); }
    void set(std::initializer_list<int> at, double value) { set(std::span(at.begin(), at.size()), value); }
    // Calls f(coordinates) for every element, dimension 0 fastest.
    void for_each(const std::function<void(const std::vector<int> &)> &f) const;
    // Every element in that order, without the gaps of memory.
    std::vector<double> numbers() const;
    int extent(size_t i) const { return static_cast<int>(arg_.dims[i].extent); }
    const schedules::KernelArg &arg() const { return arg_; }
    uint8_t *data() const { return data_; }

private:
    uint8_t *place(std::span<const int> at) const {
        size_t sum = 0;
        for (size_t i = 0; i < at.size(); i++)
            sum += static_cast<size_t>(at[i]) * static_cast<size_t>(arg_.dims[i].stride);
        return data_ + sum * bytes_;
    }
    schedules::KernelArg arg_;
    std::shared_ptr<std::vector<uint8_t>> memory_;
    uint8_t *data_ = nullptr; // of the first element
    size_t bytes_ = 0;        // of an element
};

using Entry = std::function<int(void **)>;

// An image made executable; unmapped with the last kernel that uses it.
class Kernel {
public:
    Kernel(std::shared_ptr<void> image, Entry entry, schedules::Signature signature);
    Tensor &operator[](std::string_view name); // by the name of an argument that is there
    int &scalar(const std::string &name) { return scalars_.at(name); }
    const schedules::Signature &signature() const { return signature_; }
    void fill_inputs(uint32_t seed); // uniform in [-1, 1)
    // Returns the kernel's code; `scratch_left` says what it forgot to free.
    int call(uint64_t *scratch_left = nullptr);
    // Prebuilt arguments for calls in a loop; valid until the next prepare() of this kernel.
    // "scratch" is memory that several kernels use in turn, as in the runtime: on a 64-byte line,
    // as large as the largest needs.
    void prepare(const std::map<std::string, uint8_t *> &elsewhere = {});
    int call_prepared() { return entry_(arguments_.data()); }

private:
    struct Call;
    std::shared_ptr<void> image_;
    Entry entry_;
    schedules::Signature signature_;
    std::vector<Tensor> tensors_; // of each argument; of scalars an empty one
    std::map<std::string, int> scalars_;
    std::shared_ptr<Call> call_;
    std::vector<void *> arguments_;
};

struct LoadOptions {
    std::string structures; // of transforms, instead of the shipped (compiler/codegen/kernel_cache.h)
    std::string cache;      // kernel cache folder; empty: the user's
};

// All specifications for one target through one image, in order.
Expected<std::vector<Kernel>> load_kernels(const std::vector<std::string> &specs,
                                           const targets::Target &target, const std::string &kgen,
                                           const LoadOptions &options = {});

// True when this machine can run code of the target.
bool host_runs(const targets::Target &target);
// longwave-kgen of this build: $LONGWAVE_BUILD/longwave-kgen, or beside or above the running
// program.
std::string find_kgen();

} // namespace longwave::kernels
