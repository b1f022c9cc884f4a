#include "runtime/run/run_arguments.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"

namespace longwave::runtime {

namespace {

// Why there is none.
lw_status unfitting(const lw_model &model, uint64_t ticks) {
    const fb::Entry *below = nullptr, *above = nullptr; // the nearest capacities
    for (const fb::Entry *entry : *model.plan().entries()) {
        if (!runs(model, *entry)) continue;
        const bool large = entry->block() >= ticks;
        const fb::Entry *&nearest = large ? above : below;
        if (!nearest || (entry->block() < nearest->block()) == large) nearest = entry;
    }
    const fb::Entry &entry = above ? *above : *largest_run(model); // a runner has one
    if (!above && entry.least() == 0)
        return fail(LW_TOO_LONG, {ticks, " rows; the artifact was compiled for at most ", entry.block(),
                                  ": compile with --length ", ticks});
    const char *layer = entry.fixed() ? entry.fixed()->c_str() : "a layer";
    const char *only = entry.least() == entry.block() ? "only " : "at least ";
    if (above && below)
        return fail(LW_TOO_SHORT, {ticks, " rows; ", layer, " reads the whole sequence and takes ", only,
                                   entry.least(), below->least() == below->block() ? " or " : " or at most ",
                                   below->block(), ": compile with --length ", ticks});
    return fail(above ? LW_TOO_SHORT : LW_TOO_LONG,
                {ticks, " rows; ", layer, " reads the whole sequence and takes ", only, entry.least(),
                 ": compile with --length ", ticks});
}

lw_status check_inputs(const lw_model &model, const Inputs &in) {
    const auto &inputs = *model.plan().inputs();
    if (in.size() != inputs.size())
        return fail(LW_INVALID_ARGUMENT,
                    {"inputs: ", uint64_t(in.size()), " given, the model has ", inputs.size()});
    if (!in.sized()) return fail(LW_INVALID_ARGUMENT, "struct_size of an input is not set, or they differ");
    for (size_t i = 0; i < in.size(); ++i) {
        const fb::Input &input = *inputs.Get(static_cast<uint32_t>(i));
        const char *name = input.name()->c_str();
        if (!in[i].data || in[i].rows == 0) return fail(LW_INVALID_ARGUMENT, {"input ", name, " is empty"});
        if (in[i].rows != in[0].rows)
            return fail(LW_INVALID_ARGUMENT, {"input ", name, " has other rows than the first"});
        if (in[i].length > in[i].rows)
            return fail(LW_INVALID_ARGUMENT, {"length of input ", name, " is more than its rows"});
        if (input.kind() != fb::InputKind::tokens) continue;
        const size_t bad = first_bad_token(in[i].data, in[i].rows, input.vocabulary());
        if (bad < in[i].rows)
            return fail(LW_BAD_TOKEN, {"token ", uint64_t(bad), " of input ", name, " is outside 0 … ",
                                       input.vocabulary() - 1});
    }
    return LW_OK;
}

lw_status check_outputs(const fb::Entry &entry, uint64_t ticks, const Outputs &out) {
    bool too_small = false;
    for (size_t i = 0; i < out.size(); ++i)
        too_small |=
            out[i].data && out[i].rows < output_rows(*entry.outputs()->Get(static_cast<uint32_t>(i)), ticks);
    if (!too_small) return LW_OK;
    for (size_t i = 0; i < out.size(); ++i)
        out[i].rows = output_rows(*entry.outputs()->Get(static_cast<uint32_t>(i)), ticks);
    return fail(LW_TOO_SMALL,
                "an output has room for fewer rows than there are; the rows needed were written");
}

} // namespace

// The run entry of least capacity that takes so many ticks. Its `entry` is null when there is none.
Run fitting(const lw_model &model, uint64_t ticks) {
    Run best;
    const auto &entries = *model.plan().entries();
    for (uint32_t e = 0; e < entries.size(); ++e) {
        const fb::Entry &entry = *entries.Get(e);
        if (!runs(model, entry) || entry.block() < ticks || entry.least() > ticks) continue;
        if (!best.entry || entry.block() < best.entry->block()) best = {&entry, e};
    }
    return best;
}

uint64_t output_rows(const fb::OutputPort &port, uint64_t ticks) {
    return port.clock_num() == 0 ? 1 : (ticks - ticks % port.whole()) * port.clock_num() / port.clock_den();
}

lw_status check(const lw_model &model, const Inputs &in, const Outputs &out, Run *run) {
    if (lw_status status = check_inputs(model, in)) return status;
    const uint64_t ticks = in[0].rows;
    *run = fitting(model, ticks);
    if (!run->entry) return unfitting(model, ticks);
    if (out.size() > run->entry->outputs()->size() || !out.given())
        return fail(LW_INVALID_ARGUMENT, {"outputs: ", uint64_t(out.size()), " asked for, the model has ",
                                          run->entry->outputs()->size()});
    if (!out.sized()) return fail(LW_INVALID_ARGUMENT, "struct_size of an output is not set, or they differ");
    return check_outputs(*run->entry, ticks, out);
}

} // namespace longwave::runtime
