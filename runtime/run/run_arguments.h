// What lw_run is given: the tensors of one sequence, checked before anything runs.
#pragma once
#include "runtime/core/model.h"
#include <cstddef>
#include <type_traits>

namespace longwave::runtime {

// An entry, and its index in the plan.
struct Run {
    const fb::Entry *entry = nullptr;
    uint32_t index = 0;
};

// The caller's array of tensors: one lies struct_size bytes behind the other.
template <class Tensor> class Tensors {
public:
    Tensors(Tensor *first, size_t n) : first_(first), n_(n) {}
    Tensor &operator[](size_t i) const {
        using Byte = std::conditional_t<std::is_const_v<Tensor>, const uint8_t, uint8_t>;
        return *reinterpret_cast<Tensor *>(reinterpret_cast<Byte *>(first_) + i * first_->struct_size);
    }
    size_t size() const { return n_; }
    Tensors part(size_t first, size_t n) const { return {first_ && n ? &(*this)[first] : nullptr, n}; }
    bool given() const { return n_ == 0 || first_; }
    bool sized() const {
        for (size_t i = 0; i < n_; ++i)
            if (first_->struct_size < sizeof(lw_run_tensor) ||
                first_->struct_size % alignof(lw_run_tensor) != 0 ||
                (*this)[i].struct_size != first_->struct_size)
                return false;
        return true;
    }

private:
    Tensor *first_;
    size_t n_;
};
using Inputs = Tensors<const lw_run_tensor>;
using Outputs = Tensors<lw_run_tensor>;

// Its `entry` is null when no entry takes so many ticks.
Run fitting(const lw_model &model, uint64_t ticks);

// Rows of an output of a sequence of so many ticks.
uint64_t output_rows(const fb::OutputPort &port, uint64_t ticks);

// Finds the entry for the sequence. LW_TOO_SMALL leaves the rows needed in the outputs.
lw_status check(const lw_model &model, const Inputs &in, const Outputs &out, Run *run);

} // namespace longwave::runtime
