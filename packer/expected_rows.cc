#include "packer/expected_rows.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/schema.h"
#include "packer/runtime_status.h"
#include <algorithm>
#include <cstring>
#include <memory>

namespace longwave::packer {

namespace {

using artifact::stored_rows;

// One offline run, and what it was given: vectors of several entries have the same inputs.
struct Run {
    uint32_t ticks = 0;
    std::vector<std::vector<float>> inputs;  // by port, the stored rows; ids count as their bits
    std::vector<std::vector<float>> outputs; // by port of the run
};

// The outputs of all offline runs are the same (V13).
const fb::Entry *any_run(const fb::Plan &plan) {
    for (const fb::Entry *entry : *plan.entries())
        if (entry->kind() == fb::EntryKind::run && entry->device() == fb::DeviceKind::cpu) return entry;
    return nullptr;
}

uint64_t rows_of(const fb::OutputPort &port, uint32_t ticks) {
    if (port.clock_num() == 0) return 1;
    return uint64_t{ticks - ticks % port.whole()} * port.clock_num() / port.clock_den();
}

class ExpectedRows {
public:
    ExpectedRows(Shape &shape, const lw_model *model, const fb::Entry &run)
        : shape_(shape), plan_(shape.view().plan()), model_(model), run_(run) {}

    Status make(const fb::Golden &golden) {
        LW_TRY(run(golden));
        const fb::Entry &entry = *plan_.entries()->Get(golden.entry());
        for (uint32_t i = 0; i < artifact::count(golden.outputs()); ++i) {
            const fb::GoldenTensor &tensor = *golden.outputs()->Get(i);
            const fb::OutputPort &port = *entry.outputs()->Get(tensor.port());
            const std::string name = port.name()->str();
            const auto found = std::find_if(run_.outputs()->begin(), run_.outputs()->end(),
                                            [&](const auto *other) { return other->name()->str() == name; });
            if (found == run_.outputs()->end() || found->clock_num() != port.clock_num() ||
                found->clock_den() != port.clock_den() || found->width() != tensor.width())
                return Status::input("output " + name +
                                     " of a stream has no rows of its own in an offline run, which makes "
                                     "the golden vectors; compile without golden vectors (--no-golden)");
            const auto &rows = newest_.outputs[found - run_.outputs()->begin()];
            const uint64_t first = uint64_t{tensor.first()} * tensor.width(),
                           n = stored_rows(tensor) * uint64_t{tensor.width()};
            if (first + n > rows.size())
                return Status::input("output " + name +
                                     ": a golden vector has more rows than an offline run");
            std::memcpy(shape_.golden_values(tensor.offset()), rows.data() + first, n * sizeof(float));
        }
        return Status::ok();
    }

private:
    Status run(const fb::Golden &golden) {
        Run next;
        next.ticks = golden.inputs()->Get(0)->rows();
        next.inputs.resize(plan_.inputs()->size());
        for (const fb::GoldenTensor *tensor : *golden.inputs()) {
            const float *from = shape_.golden_values(tensor->offset());
            next.inputs[tensor->port()].assign(from, from + stored_rows(*tensor) * uint64_t{tensor->width()});
        }
        const auto same_bits = [](const auto &a, const auto &b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
        };
        if (next.ticks == newest_.ticks &&
            std::equal(next.inputs.begin(), next.inputs.end(), newest_.inputs.begin(), newest_.inputs.end(),
                       same_bits))
            return Status::ok();
        newest_ = std::move(next);

        std::vector<std::vector<float>> whole; // inputs that repeat
        std::vector<lw_run_tensor> in, out;
        for (const fb::GoldenTensor *tensor : *golden.inputs())
            whole.push_back(
                repeated(newest_.inputs[tensor->port()], uint64_t{newest_.ticks} * tensor->width()));
        in.resize(newest_.inputs.size());
        for (uint32_t i = 0; i < golden.inputs()->size(); ++i)
            in[golden.inputs()->Get(i)->port()] = {sizeof(lw_run_tensor), whole[i].data(), newest_.ticks, 0};
        for (const fb::OutputPort *port : *run_.outputs()) {
            const uint64_t rows = rows_of(*port, newest_.ticks);
            newest_.outputs.emplace_back(rows * port->width());
            out.push_back({sizeof(lw_run_tensor), newest_.outputs.back().data(), rows, 0});
        }
        lw_runner_options options = LW_RUNNER_OPTIONS_INIT;
        options.format = LW_F32;
        lw_runner *made = nullptr;
        LW_TRY(status_of(lw_runner_create(model_, &options, &made)));
        const std::unique_ptr<lw_runner, void (*)(lw_runner *)> runner(made, lw_runner_destroy);
        return status_of(lw_run(made, in.data(), in.size(), out.data(), out.size()));
    }

    static std::vector<float> repeated(const std::vector<float> &part, uint64_t size) {
        std::vector<float> whole;
        whole.reserve(size);
        while (whole.size() < size)
            whole.insert(whole.end(), part.begin(),
                         part.begin() + static_cast<ptrdiff_t>(std::min(part.size(), size - whole.size())));
        return whole;
    }

    Shape &shape_;
    const fb::Plan &plan_;
    const lw_model *model_;
    const fb::Entry &run_;
    Run newest_;
};

} // namespace

Expected<size_t> make_expected_rows(Shape &shape, const lw_model *model) {
    const fb::Plan &plan = shape.view().plan();
    const uint32_t vectors = artifact::count(plan.golden());
    if (vectors == 0) return size_t{0};
    const fb::Entry *run = any_run(plan);
    if (!run)
        return Status::input("the compiled model has no offline run, which makes the golden vectors of other "
                             "weights; compile it without --no-whole");
    ExpectedRows rows(shape, model, *run);
    for (const fb::Golden *golden : *plan.golden()) LW_TRY(rows.make(*golden));
    return size_t{vectors};
}

} // namespace longwave::packer
