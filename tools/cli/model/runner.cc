#include "tools/cli/model/runner.h"
#include "tools/cli/model/status.h"
#include "tools/cli/remote/remote_model.h"

namespace longwave::cli {

Expected<Runner> Runner::create(const Model &model, uint32_t threads) {
    if (!model.info.has_run)
        return Status::usage(
            std::string(model.info.name) +
            ": the model has no entry for offline runs; use `longwave run --stream`, or compile "
            "it without --no-whole");
    Runner result;
    result.model_ = &model;
    if (model.remote) return result;
    lw_runner_options options = {};
    options.struct_size = sizeof options;
    options.format = LW_F32;
    options.threads = threads;
    lw_runner *runner = nullptr;
    LW_TRY(status_of(lw_runner_create(model.handle.get(), &options, &runner), "runner"));
    result.handle_ =
        std::shared_ptr<lw_runner>(runner, [keep = model.handle](lw_runner *r) { lw_runner_destroy(r); });
    return result;
}

uint64_t rows_after(const lw_output_info &output, uint64_t ticks) {
    return output.clock_num == 0 ? 1 : (ticks - ticks % output.whole) * output.clock_num / output.clock_den;
}

Expected<std::vector<std::vector<float>>> Runner::run(const Sequence &in) {
    if (model_->remote) return run_remotely(*model_, in);
    std::vector<lw_run_tensor> inputs, outputs;
    for (size_t i = 0; i < model_->inputs.size(); i++)
        inputs.push_back({sizeof(lw_run_tensor), const_cast<void *>(in.data(i)), in.rows,
                          in.lengths.empty() ? 0 : in.lengths[i]});
    std::vector<std::vector<float>> results;
    for (const lw_output_info &output : model_->run_outputs) {
        const size_t rows = static_cast<size_t>(rows_after(output, model_->info.run_capacity));
        results.emplace_back(rows * output.width);
        outputs.push_back({sizeof(lw_run_tensor), results.back().data(), rows, 0});
    }
    LW_TRY(status_of(lw_run(handle_.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()),
                     "run"));
    for (size_t i = 0; i < results.size(); i++)
        results[i].resize(outputs[i].rows * model_->run_outputs[i].width);
    return results;
}

} // namespace longwave::cli
