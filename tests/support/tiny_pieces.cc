// The pieces tiny artifacts are made of.
#include "runtime/platform/cpu.h"
#include "tests/support/tiny_model.h"
#include <cstdlib>
#include <cstring>

extern "C" const uint8_t lw_test_image[], lw_test_image_end[];

namespace longwave::test {

Draft empty_draft(std::string name) {
    Draft draft;
    draft.plan.name = std::move(name);
    draft.plan.producer = "tests";
    draft.plan.computation.assign(32, 7);
    draft.segments.push_back({fb::SegmentKind::code, code_image()});
    auto variant = std::make_unique<fb::CodeVariantT>();
    const artifact::Host host = platform::host();
    variant->target = host.machine == artifact::machine_aarch64 ? "arm64" : "x86-64";
    variant->machine = host.machine;
    variant->segment = 0;
    draft.plan.variants.push_back(std::move(variant));
    return draft;
}

std::vector<uint8_t> Draft::bytes() const {
    // The plan's copy: write consumes its argument.
    auto written = artifact::write_unchecked(plan, segments);
    if (!written) abort();
    return *std::move(written);
}

std::vector<uint8_t> code_image() { return {lw_test_image, lw_test_image_end}; }

std::vector<uint8_t> as_bytes(const std::vector<float> &values) {
    std::vector<uint8_t> bytes(values.size() * 4);
    memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

void set_weights(Draft &draft, const std::vector<float> &values) {
    draft.segments.push_back({fb::SegmentKind::weights, as_bytes(values)});
    draft.plan.weights_bytes = values.size() * 4;
}

void add_golden(Draft &draft, uint16_t entry, uint32_t rows, float error_limit) {
    auto golden = std::make_unique<fb::GoldenT>();
    golden->entry = entry;
    golden->error_limit = error_limit;
    auto in = std::make_unique<fb::GoldenTensorT>(), out = std::make_unique<fb::GoldenTensorT>();
    in->rows = out->rows = rows;
    in->width = out->width = 1;
    out->offset = rows * sizeof(float);
    golden->inputs.push_back(std::move(in));
    golden->outputs.push_back(std::move(out));
    draft.plan.golden.push_back(std::move(golden));
}

void add_input(Draft &draft, std::string name, fb::InputKind kind, uint32_t rate_or_vocabulary) {
    auto input = std::make_unique<fb::InputT>();
    input->name = std::move(name);
    input->kind = kind;
    if (kind == fb::InputKind::audio) input->sample_rate = rate_or_vocabulary;
    if (kind == fb::InputKind::tokens) input->vocabulary = rate_or_vocabulary;
    draft.plan.inputs.push_back(std::move(input));
}

fb::KernelArgT arg(fb::ArgKind kind, fb::Elem elem, std::vector<fb::Dim> dims) {
    fb::KernelArgT result;
    result.kind = kind;
    result.elem = elem;
    result.dims = std::move(dims);
    return result;
}

fb::KernelArgT scalar_arg(int32_t high, int32_t multiple) {
    fb::KernelArgT result = arg(fb::ArgKind::scalar, fb::Elem::i32, {});
    result.high = high;
    result.multiple = multiple;
    return result;
}

void add_kernel(Draft &draft, TestKernel which, std::string spec, std::vector<fb::KernelArgT> args,
                uint64_t scratch) {
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->spec = std::move(spec);
    for (fb::KernelArgT &a : args) kernel->args.push_back(std::make_unique<fb::KernelArgT>(std::move(a)));
    draft.plan.kernels.push_back(std::move(kernel));
    uint32_t offset;
    memcpy(&offset, lw_test_image + 4 * which, sizeof offset);
    for (auto &variant : draft.plan.variants) {
        variant->entry.push_back(offset);
        variant->scratch.push_back(scratch);
    }
}

void add_field(Draft &draft, std::string layer, std::string name, fb::StateKind kind,
               std::vector<uint32_t> dims, fb::Elem elem) {
    auto field = std::make_unique<fb::StateFieldT>();
    field->layer = std::move(layer);
    field->name = std::move(name);
    field->kind = kind;
    field->elem = elem;
    field->offset = draft.plan.state_bytes;
    uint64_t bytes = elem == fb::Elem::f64 ? 8 : 4;
    for (uint32_t dim : dims) bytes *= dim;
    field->dims = std::move(dims);
    draft.plan.state_bytes = (field->offset + bytes + 63) / 64 * 64;
    draft.plan.state.push_back(std::move(field));
}

std::unique_ptr<fb::Place> place(fb::Space space, uint64_t offset, uint32_t slots, uint64_t slot_bytes,
                                 uint32_t slot_add, uint64_t tile_bytes) {
    return std::make_unique<fb::Place>(offset, slot_bytes, tile_bytes, slots, slot_add, space);
}

std::unique_ptr<fb::BindingT> at(fb::Space space, uint64_t offset, uint32_t slots, uint64_t slot_bytes,
                                 uint32_t slot_add, uint64_t tile_bytes) {
    auto binding = std::make_unique<fb::BindingT>();
    binding->place = place(space, offset, slots, slot_bytes, slot_add, tile_bytes);
    return binding;
}

static std::unique_ptr<fb::BindingT> scalar(fb::Scalar value) {
    auto binding = std::make_unique<fb::BindingT>();
    binding->scalar = std::make_unique<fb::Scalar>(value);
    return binding;
}
std::unique_ptr<fb::BindingT> constant(int32_t value) {
    return scalar({fb::ScalarKind::constant, value, 0, 0, 1, 0});
}
std::unique_ptr<fb::BindingT> slot(uint32_t modulus, int32_t mul, int32_t value, uint32_t add) {
    return scalar({fb::ScalarKind::slot, value, mul, 0, modulus, add});
}
std::unique_ptr<fb::BindingT> length(int32_t limit, int32_t mul, uint32_t den) {
    return scalar({fb::ScalarKind::length, limit, mul, 0, den, 0});
}

std::unique_ptr<fb::StepT> call(std::string name, uint16_t kernel, Bindings args) {
    auto step = std::make_unique<fb::StepT>();
    step->name = std::move(name);
    step->kernel = kernel;
    step->args = std::move(args);
    return step;
}

std::unique_ptr<fb::StepT> zero(std::string name, fb::Space space, uint64_t offset, uint64_t bytes) {
    auto step = std::make_unique<fb::StepT>();
    step->kind = fb::StepKind::zero;
    step->name = std::move(name);
    step->bytes = bytes;
    step->args = bindings(at(space, offset));
    return step;
}

std::unique_ptr<fb::InputPortT> input_port(std::unique_ptr<fb::Place> at_place, uint32_t rows,
                                           uint32_t row_bytes) {
    auto port = std::make_unique<fb::InputPortT>();
    port->place = std::move(at_place);
    port->rows = rows;
    port->row_bytes = row_bytes;
    return port;
}

std::unique_ptr<fb::OutputPortT> output_port(std::string name, std::unique_ptr<fb::Place> at_place,
                                             uint32_t width, uint32_t rows, uint32_t num, uint32_t den,
                                             uint32_t period, uint32_t phase) {
    auto port = std::make_unique<fb::OutputPortT>();
    port->name = std::move(name);
    port->place = std::move(at_place);
    port->width = width;
    port->rows = rows;
    port->row_bytes = width * 4;
    port->period = period;
    port->phase = phase;
    port->clock_num = num;
    port->clock_den = den;
    return port;
}

} // namespace longwave::test
