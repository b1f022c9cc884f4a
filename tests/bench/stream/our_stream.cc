#include "compiler/driver/compile.h"
#include "longwave/longwave.h"
#include "tests/bench/stream/contestant.h"
#include "tests/kernels/kernel_call.h"
#include "tests/support/convolution_package.h"
#include <nlohmann/json.hpp>

namespace longwave::bench {
namespace {

class OurStream final : public StreamContestant {
public:
    OurStream(const StreamProblem &p, std::vector<uint8_t> artifact)
        : p_(p), artifact_(std::move(artifact)) {}
    ~OurStream() override {
        lw_stream_destroy(stream_);
        lw_model_close(model_);
    }
    Status open() {
        lw_open_options options = {};
        options.struct_size = sizeof options;
        options.allow_unsigned_code = 1;
        if (lw_model_open_memory(artifact_.data(), artifact_.size(), &options, &model_) != LW_OK)
            return Status::internal(lw_last_error());
        lw_stream_options stream = {};
        stream.struct_size = sizeof stream;
        stream.format = LW_F32;
        stream.queue = p_.block;
        if (lw_stream_create(model_, &stream, &stream_) != LW_OK) return Status::internal(lw_last_error());
        lw_stream_entry_info entry = LW_STREAM_ENTRY_INFO_INIT;
        if (lw_model_stream_entry(model_, 0, &entry) != LW_OK) return Status::internal(lw_last_error());
        period_ = entry.period;
        lw_model_info info = LW_MODEL_INFO_INIT;
        if (lw_model_get_info(model_, &info) != LW_OK) return Status::internal(lw_last_error());
        const auto report = nlohmann::json::parse(info.report);
        for (const auto &choice : report["layers"][0]["algorithms"]) settings_ = choice.dump();
        return {};
    }
    std::string name() const override { return "longwave"; }
    uint32_t period() const override { return period_; }
    std::string settings() const override { return settings_; }
    Status block(const float *in, float *out) override {
        if (lw_stream_push(stream_, in, p_.block, nullptr) != LW_OK) return Status::internal(lw_last_error());
        lw_stream_rows rows = {};
        rows.struct_size = sizeof rows;
        rows.data = out;
        rows.capacity = size_t{p_.block} * p_.channels;
        const lw_status status = lw_stream_pull_rows(stream_, &rows);
        if (status != LW_OK || rows.rows != p_.block) return Status::internal("not every row came");
        return {};
    }

private:
    const StreamProblem &p_;
    std::vector<uint8_t> artifact_;
    lw_model *model_ = nullptr;
    lw_stream *stream_ = nullptr;
    uint32_t period_ = 1;
    std::string settings_;
};

} // namespace

Streamer our_stream(const StreamProblem &problem, const std::string &target, const std::string &convolution) {
    LW_ASSIGN(package::Package package,
              problem.mixes ? test::mixing_package(problem.channels, problem.taps, problem.kernel)
                            : test::convolution_package(problem.channels, problem.taps, problem.kernel));
    compiler::Options options;
    options.targets = {target};
    options.stream = compiler::StreamMode::required;
    options.blocks = {problem.block};
    options.offline = false;
    options.convolution = convolution;
    options.kgen = test::find_kgen();
    LW_ASSIGN(compiler::Compiled compiled, compiler::compile(std::move(package), options));
    auto ours = std::make_unique<OurStream>(problem, std::move(compiled.artifact));
    LW_TRY(ours->open());
    return std::unique_ptr<StreamContestant>(std::move(ours));
}

} // namespace longwave::bench
