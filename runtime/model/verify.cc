// lw_model_verify: the artifact's golden vectors, run on this machine's code.
#include "formats/artifact/geometry.h"
#include "runtime/core/model.h"
#include "runtime/core/status.h"
#include "runtime/model/info.h"
#include "runtime/run/runner.h"
#include <cstring>

using namespace longwave;
using namespace longwave::runtime;

namespace {

using artifact::count;

// Owned by one check; given back on every way out.
struct Check {
    explicit Check(const lw_model &m) : model(m) {}
    ~Check() {
        lw_stream_destroy(stream);
        lw_runner_destroy(runner);
        values.release(model.allocator);
    }
    const lw_model &model;
    lw_stream *stream = nullptr;
    lw_runner *runner = nullptr;
    Block values; // what the entry gave, and repeated inputs of runs
};

const uint8_t *golden_bytes(const lw_model &model, const fb::GoldenTensor &tensor) {
    return model.view.golden().data + tensor.offset();
}

// Buffers of one check, by tensor.
struct Buffers {
    const uint8_t *inputs[256]; // V6: at most so many ports
    uint8_t *outputs[256];
};

const fb::OutputPort &port_of(const lw_model &model, const fb::Golden &golden,
                              const fb::GoldenTensor &tensor) {
    return *model.plan().entries()->Get(golden.entry())->outputs()->Get(tensor.port());
}

// The largest expected value of an output in any vector of any entry. A vector's own peak would not
// do: behind a kernel that begins with silence, the rows of a short vector are zero, and a transform
// rounds relative to the whole kernel.
float peak_of(const lw_model &model, const flatbuffers::String &output) {
    float peak = 0;
    for (const fb::Golden *golden : *model.plan().golden()) {
        for (uint32_t i = 0; i < count(golden->outputs()); ++i) {
            const fb::GoldenTensor &tensor = *golden->outputs()->Get(i);
            if (port_of(model, *golden, tensor).name()->string_view() != output.string_view()) continue;
            const uint64_t n = uint64_t{artifact::stored_rows(tensor)} * tensor.width();
            for (uint64_t v = 0; v < n; ++v) {
                float value;
                memcpy(&value, golden_bytes(model, tensor) + 4 * v, 4);
                const float size = value < 0 ? -value : value;
                peak = size > peak ? size : peak;
            }
        }
    }
    return peak;
}

// The largest |got − expected| over `peak`. Values that are no number count as infinite.
double error_of(const uint8_t *expected, const uint8_t *got, uint64_t n, float peak) {
    float worst = 0;
    for (uint64_t i = 0; i < n; ++i) {
        float e, g;
        memcpy(&e, expected + 4 * i, 4);
        memcpy(&g, got + 4 * i, 4);
        const float apart = g - e < 0 ? e - g : g - e;
        if (!(apart <= 3.4e38f)) return __builtin_inf();
        worst = apart > worst ? apart : worst;
    }
    if (worst == 0) return 0;
    return peak > 0 ? double{worst} / peak : __builtin_inf();
}

lw_status run_whole(Check &check, const fb::Golden &golden, const Buffers &buffers) {
    const fb::Plan &plan = check.model.plan();
    const uint32_t n_in = count(golden.inputs()),
                   n_out = count(plan.entries()->Get(golden.entry())->outputs());
    lw_run_tensor in[256] = {}, out[256] = {};
    for (uint32_t i = 0; i < n_in; ++i) {
        const fb::GoldenTensor &tensor = *golden.inputs()->Get(i);
        in[tensor.port()] = {sizeof(lw_run_tensor), const_cast<uint8_t *>(buffers.inputs[i]), tensor.rows(),
                             0};
    }
    for (uint32_t i = 0; i < n_out; ++i) out[i] = {sizeof(lw_run_tensor), nullptr, 0, 0};
    for (uint32_t i = 0; i < count(golden.outputs()); ++i) {
        const fb::GoldenTensor &tensor = *golden.outputs()->Get(i);
        out[tensor.port()] = {sizeof(lw_run_tensor), buffers.outputs[i], tensor.rows(), 0};
    }
    lw_runner_options options{};
    options.struct_size = sizeof options;
    options.format = LW_F32;
    if (lw_status status = lw_runner_create(&check.model, &options, &check.runner)) return status;
    return lw_run(check.runner, in, plan.inputs()->size(), out, n_out);
}

void keep(const fb::Golden &golden, uint8_t *const *outputs, const lw_stream_row &row) {
    for (uint32_t i = 0; i < count(golden.outputs()); ++i) {
        const fb::GoldenTensor &tensor = *golden.outputs()->Get(i);
        const uint64_t at = row.row - tensor.first(); // huge before the first
        if (tensor.port() != row.index || at >= artifact::stored_rows(tensor)) continue;
        memcpy(outputs[i] + at * row.width * 4, row.data, row.width * sizeof(float));
    }
}

lw_stream_options options_for(const lw_model &model, const fb::Golden &golden) {
    lw_stream_options options = plain_stream(model);
    options.block = model.plan().entries()->Get(golden.entry())->block();
    return options;
}

lw_status run_stream(Check &check, const fb::Golden &golden, uint8_t *const *outputs) {
    const lw_stream_options options = options_for(check.model, golden);
    if (lw_status status = lw_stream_create(&check.model, &options, &check.stream)) return status;
    const fb::GoldenTensor &input = *golden.inputs()->Get(0);
    const uint8_t *from = golden_bytes(check.model, input);
    lw_stream_row row{};
    row.struct_size = sizeof row;
    for (uint64_t done = 0; done < input.rows();) {
        size_t taken = 0;
        const uint64_t rows = artifact::stored_rows(input), first = done % rows;
        const uint64_t left = input.rows() - done < rows - first ? input.rows() - done : rows - first;
        const uint8_t *at = from + first * input.width() * 4;
        if (lw_status status = lw_stream_push(check.stream, at, left, &taken)) return status;
        done += taken;
        while (lw_stream_pull(check.stream, &row) == LW_OK) keep(golden, outputs, row);
    }
    if (lw_status status = lw_stream_finish(check.stream)) return status;
    lw_status status;
    while ((status = lw_stream_pull(check.stream, &row)) == LW_OK) keep(golden, outputs, row);
    return status == LW_END ? LW_OK : status;
}

uint64_t bytes_of(const fb::GoldenTensor &tensor, uint64_t rows) { return rows * tensor.width() * 4; }
bool repeats(const fb::GoldenTensor &input) { return artifact::stored_rows(input) < input.rows(); }

// Streams keep the stored rows and repeat an input as they push it. Runs have all rows in memory:
// those of a port once, of an input where the file does not have them all.
void lay_out(const lw_model &model, const fb::Golden &golden, bool stream, Parts &parts, Buffers &buffers) {
    for (uint32_t i = 0; i < count(golden.outputs()); ++i) {
        const fb::GoldenTensor &tensor = *golden.outputs()->Get(i);
        uint32_t same = stream ? i : 0;
        while (golden.outputs()->Get(same)->port() != tensor.port() ||
               golden.outputs()->Get(same)->rows() != tensor.rows())
            ++same;
        buffers.outputs[i] = same < i ? buffers.outputs[same]
                                      : parts.take<uint8_t>(bytes_of(
                                            tensor, stream ? artifact::stored_rows(tensor) : tensor.rows()));
    }
    for (uint32_t i = 0; i < count(golden.inputs()); ++i) {
        const fb::GoldenTensor &tensor = *golden.inputs()->Get(i);
        buffers.inputs[i] = !stream && repeats(tensor) ? parts.take<uint8_t>(bytes_of(tensor, tensor.rows()))
                                                       : golden_bytes(model, tensor);
    }
}

// Room for what the entry gives, and the budget's word that the stream or runner fits beside it.
lw_status make_room(Check &check, const fb::Golden &golden, bool stream, Buffers &buffers) {
    const lw_model &model = check.model;
    Parts measure(nullptr);
    lay_out(model, golden, stream, measure, buffers);
    uint64_t user = runner_bytes(model);
    if (stream) {
        size_t size, alignment;
        const lw_stream_options options = options_for(model, golden);
        if (lw_status status = lw_stream_size(&model, &options, &size, &alignment)) return status;
        user = size + model.own_stream_bytes;
    }
    if (lw_status status = model.budget.allows("a golden vector", measure.used() + user)) return status;
    if (!check.values.allocate(model.allocator, measure.used()))
        return fail(LW_NO_MEMORY, {"no memory for a golden vector: ", measure.used(), " bytes"});
    memset(check.values.data, 0xff, check.values.size); // not numbers: a row that never comes is an error
    Parts parts(check.values.data);
    lay_out(model, golden, stream, parts, buffers);
    for (uint32_t i = 0; i < count(golden.inputs()) && !stream; ++i) {
        const fb::GoldenTensor &tensor = *golden.inputs()->Get(i);
        if (!repeats(tensor)) continue;
        const uint64_t row = bytes_of(tensor, 1), all = row * tensor.rows(),
                       stored = row * artifact::stored_rows(tensor);
        uint8_t *to = const_cast<uint8_t *>(buffers.inputs[i]);
        for (uint64_t at = 0; at < all; at += stored)
            memcpy(to + at, golden_bytes(model, tensor), all - at < stored ? all - at : stored);
    }
    return LW_OK;
}

lw_status check_golden(const lw_model &model, uint32_t index, double *worst) {
    const fb::Golden &golden = *model.plan().golden()->Get(index);
    if (count(golden.outputs()) == 0) return LW_OK;
    const fb::Entry &entry = *model.plan().entries()->Get(golden.entry());
    if (entry.device() != model.device->kind) return LW_OK; // of another device
    const bool stream = entry.kind() == fb::EntryKind::stream;
    Check check(model);
    Buffers buffers;
    if (lw_status status = make_room(check, golden, stream, buffers)) return status;
    if (lw_status status =
            stream ? run_stream(check, golden, buffers.outputs) : run_whole(check, golden, buffers))
        return status;
    lw_status result = LW_OK;
    for (uint32_t i = 0; i < count(golden.outputs()); ++i) {
        const fb::GoldenTensor &tensor = *golden.outputs()->Get(i);
        const uint8_t *got = buffers.outputs[i] + (stream ? 0 : bytes_of(tensor, tensor.first()));
        const uint64_t values = bytes_of(tensor, artifact::stored_rows(tensor)) / 4;
        const flatbuffers::String &output = *port_of(model, golden, tensor).name();
        const double error = error_of(golden_bytes(model, tensor), got, values, peak_of(model, output)) /
                             double{golden.error_limit()};
        if (error > *worst) *worst = error;
        if (error <= 1 || result != LW_OK) continue;
        result =
            fail(LW_CHECK_FAILED, {"output ", output.c_str(), " of entry ", uint32_t{golden.entry()}, " is ",
                                   error < 1e15 ? MessagePart(static_cast<uint64_t>(error * 100))
                                                : MessagePart("infinitely many"),
                                   " % of its limit away from its golden vector"});
    }
    return result;
}

} // namespace

lw_status lw_model_verify(const lw_model *model, double *worst) {
    double ignored = 0;
    if (!worst) worst = &ignored;
    *worst = 0;
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    lw_status first = LW_OK;
    for (uint32_t g = 0; g < count(model->plan().golden()); ++g) {
        const lw_status status = check_golden(*model, g, worst);
        if (status != LW_OK && status != LW_CHECK_FAILED) return status;
        if (first == LW_OK) first = status; // the rest is run too: *worst is that of all
    }
    return first;
}
