// The kernel rule of every op that has one: which kernel, which params, how weights are packed (shapes in schedules/README.md).
#include "compiler/ops/op.h"
#include "compiler/planner/convolution_kernels.h"
#include "compiler/planner/entry_planner.h"
#include "compiler/planner/kernel_call.h"
#include "schedules/kernel.h"
#include "schedules/twiddles.h"
#include <fmt/format.h>
#include <map>

namespace longwave::compiler {

namespace {

using schedules::pad;

std::vector<float> padded_row(const ir::Type &type, const std::vector<double> &values) {
    std::vector<float> packed(type.row(), 0.f);
    for (uint32_t i = 0; i < type.width(); i++) packed[type.physical(i)] = static_cast<float>(values[i]);
    return packed;
}

Status power_spectrum(KernelCall &call) {
    const ir::Node *frame = call.planner().graph().producer(call.node.inputs[0]);
    if (!frame || std::string_view(frame->op->name) != "frame") return Status::input("a power spectrum needs frames right before it");
    auto hop = static_cast<uint32_t>(frame->integer("hop"));
    auto n_fft = static_cast<uint32_t>(call.node.integer("n_fft"));
    call.kernel("frame_power");
    call.param("window", frame->integer("window"));
    call.param("hop", hop);
    call.param("n_fft", n_fft);
    call.param("rows", call.rows());
    call.read_ring(0, hop);
    const auto &window = *call.planner().graph().constant(frame->inputs[1])->data;
    call.weight("window", std::vector<float>(window.begin(), window.end()));
    call.weight("twiddles", schedules::frame_twiddles(n_fft));
    call.write();
    return Status::ok();
}

Status linear(KernelCall &call) {
    const ir::Type &x = call.type(0);
    const auto &w = call.constant(1);
    uint32_t in = x.width(), out = call.type(1).dims[0];
    // With a gate behind it: values in the first half of a packed row, gates in the second, each padded.
    uint32_t half = call.glu ? out / 2 : out, stride = call.glu ? 2 * pad(half) : pad(half);
    auto column = [&](uint32_t o) { return o < half ? o : pad(half) + (o - half); };
    std::vector<float> packed(size_t(x.row()) * stride, 0.f);
    for (uint32_t o = 0; o < out; o++)
        for (uint32_t i = 0; i < in; i++) packed[size_t(x.physical(i)) * stride + column(o)] = static_cast<float>(w[size_t(o) * in + i]);
    bool bias = call.node.integer("bias") != 0;
    call.kernel("linear");
    call.param("in", x.row());
    call.param("out", half);
    call.param("rows", call.rows());
    call.param("bias", bias ? 1 : 0);
    call.param("glu", call.glu ? 1 : 0);
    call.read_rows(0);
    call.weight("weight", packed);
    if (bias) {
        std::vector<float> b(stride, 0.f);
        for (uint32_t o = 0; o < out; o++) b[column(o)] = static_cast<float>(call.constant(2)[o]);
        call.weight("bias", b);
    }
    call.write();
    return Status::ok();
}

Status conv2d(KernelCall &call) {
    const ir::Type &x = call.type(0), &w = call.type(1);
    uint32_t out_c = w.dims[0], per_group = w.dims[1], kt = w.dims[2], kf = w.dims[3];
    auto groups = static_cast<uint32_t>(call.node.integer("groups"));
    bool frequency = call.node.integer("frequency") != 0;
    uint32_t in_f = x.dims.size() == 2 ? x.dims[0] : frequency ? x.dims[0] : 1;
    uint32_t in_c = x.width() / in_f;
    uint32_t out_f = call.result().width() / out_c;
    if (groups != 1 && (groups != in_c || out_c != in_c))
        return Status::input(fmt::format("groups = {} of {} input channels: expected 1 (full) or {} with as many outputs (depthwise)", groups, in_c, in_c));
    if (out_c == 1 && out_f > 1) return Status::input("a 2-D convolution to one channel: give it at least 2 output channels");
    const auto &weights = call.constant(1);
    bool depthwise = groups > 1;
    uint32_t stride = pad(out_c), inner = depthwise ? 1 : per_group;
    std::vector<float> packed(size_t(kt) * kf * inner * stride, 0.f);
    for (uint32_t o = 0; o < out_c; o++)
        for (uint32_t i = 0; i < inner; i++)
            for (uint32_t t = 0; t < kt; t++)
                for (uint32_t f = 0; f < kf; f++)
                    packed[((size_t(t) * kf + f) * inner + i) * stride + o] = static_cast<float>(weights[((size_t(o) * inner + i) * kt + t) * kf + f]);
    bool bias = call.node.integer("bias") != 0;
    auto stride_t = static_cast<uint32_t>(call.node.integer("stride_t"));
    call.kernel("conv2d");
    call.param("time", kt);
    call.param("frequency", kf);
    call.param("stride_t", stride_t);
    call.param("stride_f", call.node.integer("stride_f"));
    call.param("in_f", in_f);
    call.param("in_c", in_c);
    call.param("out_f", out_f);
    call.param("out_c", out_c);
    call.param("groups", groups);
    call.param("pad_f", (kf - 1) / 2);
    call.param("in_row", x.row());
    call.param("rows", call.rows());
    call.param("bias", bias ? 1 : 0);
    call.read_ring(0, stride_t);
    call.weight("weight", packed);
    if (bias) {
        std::vector<float> b(stride, 0.f);
        for (uint32_t o = 0; o < out_c; o++) b[o] = static_cast<float>(call.constant(2)[o]);
        call.weight("bias", b);
    }
    call.write();
    return Status::ok();
}

Status norm(KernelCall &call, const char *kind) {
    const ir::Type &x = call.type(0);
    call.kernel("norm");
    call.param("kind", kind);
    call.param("channels", x.dims.back());
    call.param("copies", x.width() / x.dims.back());
    call.param("rows", call.rows());
    call.param("eps", call.node.has("eps") ? call.node.number("eps") : 0.0);
    call.read_rows(0);
    for (size_t i = 1; i < call.node.inputs.size(); i++) {
        const auto &values = call.constant(i);
        if (values.size() == 1 && x.width() != 1) call.weight("norm." + std::to_string(i), std::vector<float>{static_cast<float>(values[0])});
        else call.weight("norm." + std::to_string(i), padded_row(x, values));
    }
    call.write();
    return Status::ok();
}
Status layer_norm(KernelCall &call) { return norm(call, "layer"); }
Status transposed_layer_norm(KernelCall &call) { return norm(call, "transposed"); }
Status rms_norm(KernelCall &call) { return norm(call, "rms"); }

Status embedding(KernelCall &call) {
    const auto &dims = call.type(1).dims;
    const auto &table = call.constant(1);
    std::vector<float> packed(size_t(dims[0]) * pad(dims[1]), 0.f);
    for (uint32_t id = 0; id < dims[0]; id++)
        for (uint32_t i = 0; i < dims[1]; i++) packed[size_t(id) * pad(dims[1]) + i] = static_cast<float>(table[size_t(id) * dims[1] + i]);
    call.kernel("embedding");
    call.param("vocabulary", dims[0]);
    call.param("width", dims[1]);
    call.param("rows", call.rows());
    call.read_rows(0);
    call.weight("weight", packed);
    call.write();
    return Status::ok();
}

Status flat_rows_only(const KernelCall &call) {
    if (call.type(0).dims.size() == 1) return Status::ok();
    return Status::input("pooling and softmax need plain channels: put a linear layer before them");
}

// A whole sequence in one call: its valid length is known to the runtime alone.
Status mean(KernelCall &call) {
    LW_TRY(flat_rows_only(call));
    const ir::Type &x = call.type(0);
    uint32_t rows = call.rows_of_input(0);
    call.kernel("mean_run");
    call.param("channels", x.width());
    call.param("rows", rows);
    call.param("mode", call.node.text("mode"));
    call.read_all(0);
    call.scalar({.kind = Scalar::Kind::length, .value = static_cast<int32_t>(rows), .mul = static_cast<int32_t>(x.clock.num), .modulus = x.clock.den,
                 .add = call.planner().input_of(call.node.inputs[0])}); // two documents have lengths of their own
    call.write();
    return Status::ok();
}

Status running_mean(KernelCall &call) {
    LW_TRY(flat_rows_only(call));
    uint32_t channels = call.type(0).width();
    call.kernel("mean_stream");
    call.one_call();
    call.param("channels", channels);
    call.param("rows", call.rows());
    call.param("mode", call.node.text("mode"));
    call.read_rows(0);
    call.write();
    call.ping_pong("sums", (uint64_t(pad(channels)) + 1) * sizeof(double));
    return Status::ok();
}

Status mean_window(KernelCall &call) {
    LW_TRY(flat_rows_only(call));
    call.kernel("mean_window");
    call.one_call();
    call.param("channels", call.type(0).width());
    call.param("rows", call.rows());
    call.param("frames", call.node.integer("frames"));
    call.read_ring(0);
    call.write();
    call.ping_pong("count", sizeof(double));
    return Status::ok();
}

Status softmax(KernelCall &call) {
    LW_TRY(flat_rows_only(call));
    call.kernel("softmax");
    call.param("channels", call.type(0).width());
    call.param("rows", call.rows());
    call.read_rows(0);
    call.write();
    return Status::ok();
}

Status pair_features(KernelCall &call) {
    LW_TRY(flat_rows_only(call));
    call.kernel("pair_features");
    call.param("channels", call.type(0).width());
    call.read_rows(0);
    call.read_rows(1);
    call.write();
    return Status::ok();
}

} // namespace

KernelRule kernel_rule(const std::string &op) {
    static const std::map<std::string, KernelRule> rules = {
        {"conv2d", conv2d},
        {"embedding", embedding},
        {"layer_norm", layer_norm},
        {"linear", linear},
        {"long_conv", long_conv_kernel},
        {"mean", mean},
        {"mean_window", mean_window},
        {"pair_features", pair_features},
        {"power_spectrum", power_spectrum},
        {"rms_norm", rms_norm},
        {"running_mean", running_mean},
        {"softmax", softmax},
        {"transposed_layer_norm", transposed_layer_norm},
    };
    auto found = rules.find(op);
    return found == rules.end() ? nullptr : found->second;
}

} // namespace longwave::compiler
