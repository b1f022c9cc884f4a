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
#include <string>
#include <vector>

namespace longwave::kernels {

// One argument's memory; all values are kept as the element type and read as double.
class Tensor {
public:
    Tensor() = default;
    explicit Tensor(const schedules::KernelArg &arg);
    double get(std::initializer_list<int> at) const;
    void set(std::initializer_list<int> at, double value);
    // Calls f(coordinates) for every element.
    void for_each(const std::function<void(const std::vector<int> &)> &f) const;
    double get(const std::vector<int> &at) const;
    void set(const std::vector<int> &at, double value);
    int extent(size_t i) const { return static_cast<int>(arg_.dims[i].extent); }
    const schedules::KernelArg &arg() const { return arg_; }
    uint8_t *data() const;

private:
    size_t offset(const int *at, size_t n) const;
    schedules::KernelArg arg_;
    std::shared_ptr<std::vector<uint8_t>> memory_;
};

using Entry = std::function<int(void **)>;

// An image made executable; unmapped with the last kernel that uses it.
class Kernel {
public:
    Kernel(std::shared_ptr<void> image, Entry entry, schedules::Signature signature);
    Tensor &operator[](const std::string &name) { return tensors_.at(name); }
    int &scalar(const std::string &name) { return scalars_.at(name); }
    std::map<std::string, Tensor> &tensors() { return tensors_; }
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
    std::map<std::string, Tensor> tensors_;
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
