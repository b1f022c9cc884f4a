// Offline runs of an open model, in this process or in another one.
#pragma once
#include "tools/cli/model/model.h"
#include <memory>
#include <vector>

namespace longwave::cli {

// The inputs of an offline run: one vector of rows × width elements per input (float, or int32 for
// tokens). The results are one vector per output.
struct Sequence {
    std::vector<std::vector<float>> floats; // by input
    std::vector<std::vector<int32_t>> ids;
    size_t rows = 0;
    std::vector<size_t> lengths; // valid rows by input; empty: all
    const void *data(size_t input) const {
        return floats[input].empty() ? static_cast<const void *>(ids[input].data()) : floats[input].data();
    }
};

class Runner {
public:
    static Expected<Runner> create(const Model &model, uint32_t threads = 1);
    Expected<std::vector<std::vector<float>>> run(const Sequence &in);

private:
    const Model *model_ = nullptr;
    std::shared_ptr<lw_runner> handle_;
};

// Rows an output has after `ticks` input ticks (clock 0/1: one).
uint64_t rows_after(const lw_output_info &output, uint64_t ticks);

} // namespace longwave::cli
