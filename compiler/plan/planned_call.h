// A kernel call in the plan of one entry: places and scalars for what an op's kernel rule
// (compiler/ir/kernel_call.h) asks for.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/plan/entry_planner.h"
#include <nlohmann/json.hpp>
#include <optional>

namespace longwave::compiler {

class PlannedCall final : public ir::KernelCall {
public:
    PlannedCall(EntryPlanner &planner, const Region &region);

    const ir::Type &result() const override { return graph().type(region_.output); }
    const ir::Node *consumer() const override { return region_.consumer; }
    uint32_t rows() const override { return rows_; }
    uint32_t all_rows() const override { return all_rows_; }
    uint32_t rows_of_input(size_t input) const override { return planner_.rows_of(node.inputs[input]); }
    bool channel_major(size_t input) const override {
        return lies_by_channel(planner_.stored(node.inputs[input]).buffer);
    }
    bool may_lie_by_channel() const override {
        return planner_.options_.draft || channel_major(0) ||
               lies_by_channel(planner_.stored(region_.output).buffer);
    }
    const ir::Decisions &decisions() const override { return planner_.choices_[region_.anchor].decisions; }

    void serves_streams() override { for_streams_ = true; }
    Place rows_of(size_t input) override;
    ir::Ring ring_of(size_t input, uint32_t reads, uint32_t ahead) override;
    std::optional<ir::ChannelHistory> channels_of_past() override;
    Place all_rows_of(size_t input) override;
    Place packed(const std::string &name, Packed numbers) override;
    ir::ResultRows result_rows() override;
    Scalar length_of(size_t input) override;
    Scalar valid_rows_of(size_t input) override;
    Place state(const std::string &name, Packed initial) override {
        return carried(name, std::move(initial));
    }
    Expected<std::optional<Place>> host_scalar(const HostScalar &scalar, const std::string &carry) override;
    ir::Count count_of(const std::string &name) override;
    void kernel(ir::KernelWithArguments of) override { call_ = std::move(of); }
    using KernelCall::kernel;
    using KernelCall::packed;

    void one_call() override;
    void ordered_tiles(uint32_t rows) override;
    void ordered_parts(uint32_t parts) override;
    void channel_tiles(uint32_t tiles, uint64_t tile_bytes) override;

    void epilogue(const std::string &op, Place rows) override;

    Place stored(const std::string &name, Packed packed) override;
    Place derived(const std::string &key, Elem elem, const std::vector<uint32_t> &dims, bool *fresh) override;
    Place memory(const std::string &name, Elem elem, const std::vector<uint32_t> &dims, Life life) override;
    Place rows_at(size_t input) const override { return rows_place(node.inputs[input]); }

    void cost(double ns) override { cost_ = ns; }
    std::vector<double> load(uint32_t blocks) const override;

    void prepare(Step step) override { planner_.storage_.prepare().steps.push_back(std::move(step)); }
    void also(Step step, uint32_t replay) override;
    void replay(uint32_t firings) override { replay_ = firings; }

    // ---- for the planner ----
    // A pointwise node applied to the result, which reads `value` as its first operand.
    Status fuse(const ir::Node &op, ir::ValueId value);
    uint32_t written_rows() const { return channel_bytes_ ? rows_ : rows_ * (tiles_ / parts_); }
    void finish(); // adds the step to the plan

private:
    Place rows_place(ir::ValueId value) const;
    void count_rows(ir::ValueId value, uint32_t rows) {
        row_bytes_ += uint64_t{rows} * planner_.stored(value).row_bytes;
    }
    bool lies_by_channel(BufferId buffer) const {
        return of_entry(buffer) && planner_.plan_.buffers[buffer].channel_major;
    }
    std::string spec(const Step &step) const;
    bool pays_for_streams() const { return for_streams_ && context.streaming && weight_bytes_ > row_bytes_; }
    Scalar rows_scalar(Scalar::Kind kind, size_t input, uint32_t of) const;
    Place zeros_in_arena(const std::string &name, Elem elem, const std::vector<uint32_t> &dims);
    Place begun_in_arena(const std::string &name, Packed initial);
    const std::string &suffix() const { return planner_.suffixes_[region_.anchor]; }
    Place carried(const std::string &name, Packed initial = {});
    void fires(Step &step) const;
    Step step(std::optional<uint32_t> tile = {}) const; // of one tile; empty: of all
    Step discarding_output(Step step) const;

    EntryPlanner &planner_;
    const Region &region_;
    ir::KernelWithArguments call_;
    nlohmann::json epilogue_ = nlohmann::json::array();
    uint32_t rows_ = 1, all_rows_ = 1, tiles_ = 1, replay_ = 0;
    uint32_t parts_ = 1;         // calls of a row
    uint64_t channel_bytes_ = 0; // channel tiles: step of a tile in a row
    bool ordered_ = false, for_streams_ = false;
    // Of a call: weights, and rows that are read or written.
    uint64_t weight_bytes_ = 0, row_bytes_ = 0;
    double cost_ = 0;
    std::vector<Place> operands_; // of the epilogue
};

} // namespace longwave::compiler
