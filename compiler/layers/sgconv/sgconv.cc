// sgconv: sgconv_kernel (the taps from the multi-scale parameters) -> long_conv (with D) ->
// activation -> extra norm -> linear -> glu or activation; options leave out the last four.
// Parameter names are those of the official state dict.
#include "compiler/layers/sgconv/sgconv.h"
#include "compiler/layers/layers.h"
#include "compiler/layers/lowering.h"
#include "compiler/ops/long_conv/multi_scale.h"
#include <algorithm>
#include <cmath>

namespace longwave::compiler::layers {
namespace {

// The long kernel of SGConv as a value, for every layer that has one.

// The taps of a multi-scale kernel from the parameters of an official state dict, with the op
// sgconv_kernel.

constexpr int64_t max_log_stretch = 24;
constexpr uint64_t max_taps = uint64_t{1} << 28;

struct Kernel {
    std::string mode;
    ir::KernelMode words;
    ir::MultiScale scales;
    uint32_t rows = 1, heads = 1; // of the lists: C' (copies, twice that when bidirectional) and H
    uint32_t l_max = 1, resolution = 1;
};

// ⌈log2(a / b)⌉
int64_t ceil_log2(uint64_t a, uint64_t b) {
    int64_t n = 0;
    while (b << n < a) ++n;
    if (n > 0) return n;
    while (a << (1 - n) <= b) --n; // a ≤ b: the largest power of two with a·2^-n ≤ b
    return n;
}

// The mode is a list of words. Those of the initialisation (how the weights began) change nothing
// at inference; an unknown word might.
Status check_mode(const Lowering &lowering, const Layer &layer, const std::string &mode) {
    static const std::vector<std::string> known = {"cat",   "sum",   "nearest", "linear", "learnable",
                                                   "fixed", "trunc", "expand",  "randn",  "rand",
                                                   "cos",   "zeros", "ones",    "decay"};
    size_t joins = 0;
    for (size_t begin = 0; begin <= mode.size();) {
        const size_t end = std::min(mode.find('_', begin), mode.size());
        const std::string word = mode.substr(begin, end - begin);
        begin = end + 1;
        if (word == "hankel")
            return lowering.failure(layer, "mode", "a published parameterisation", "\"hankel\"",
                                    "it is not supported: no published configuration uses it");
        if (std::find(known.begin(), known.end(), word) == known.end()) {
            return lowering.failure(layer, "mode", "words of the official modes, joined by _",
                                    package::in_quotes(word), package::did_you_mean(word, known));
        }
        joins += word == "cat" || word == "sum";
    }
    if (joins != 1)
        return lowering.failure(layer, "mode", "cat_… or sum_…", package::in_quotes(mode),
                                "say how the scales are joined");
    return Status::ok();
}

// The number of scales: given, or derived from l_max as the official code does. The weights must
// agree.
Expected<uint32_t> scale_count(Lowering &lowering, const Layer &layer, const Kernel &kernel) {
    const bool given = layer.attributes.contains("num_scales");
    const int64_t derived = 1 + ceil_log2(kernel.l_max, kernel.scales.kernel_dim) - kernel.scales.init_scale;
    int64_t count = given ? int64_t{integer(layer, "num_scales")} : derived;
    int64_t stored = 0; // up to the last one: a gap is a tensor that is missing
    for (int64_t i = 0; i <= max_log_stretch; ++i)
        if (lowering.find(layer, "kernel_list." + std::to_string(i))) stored = i + 1;
    if (stored > 0 && stored != count) {
        lowering.problem(
            layer, "num_scales",
            std::to_string(count) +
                (given ? " scales" : " scales (1 + ceil(log2(l_max / kernel_dim)) - init_scale)"),
            "kernel_list.0 to kernel_list." + std::to_string(stored - 1) + " in the weights",
            "set \"num_scales\": " + std::to_string(stored) + " if the weights are right");
        count = stored;
    }
    const int64_t stretch = count - 1 + kernel.scales.init_scale;
    if (count < 1 || stretch > max_log_stretch ||
        (uint64_t{kernel.scales.kernel_dim} << stretch) > max_taps) {
        return lowering.failure(layer, given ? "num_scales" : "l_max",
                                "1 or more scales and at most " + std::to_string(max_taps) + " taps",
                                std::to_string(count) + " scales of kernel_dim " +
                                    std::to_string(kernel.scales.kernel_dim));
    }
    return static_cast<uint32_t>(count);
}

Expected<Kernel> read_kernel(Lowering &lowering, const Layer &layer, uint32_t rows, uint32_t heads) {
    Kernel kernel;
    kernel.mode = layer.attributes.at("mode");
    LW_TRY(check_mode(lowering, layer, kernel.mode));
    kernel.words = ir::KernelMode::parse(kernel.mode);
    kernel.heads = heads;
    kernel.rows = rows;
    kernel.l_max = kernel.resolution = integer(layer, "l_max");
    kernel.scales = {integer(layer, "kernel_dim"), 1, integer(layer, "init_scale"), kernel.words.sum,
                     kernel.words.nearest};
    LW_ASSIGN(kernel.scales.num_scales, scale_count(lowering, layer, kernel));
    if (layer.attributes.contains("resolution")) {
        kernel.resolution = integer(layer, "resolution");
        if (!kernel.words.resizes())
            lowering.problem(layer, "resolution", "a mode with trunc or expand",
                             package::in_quotes(kernel.mode),
                             "without one of them the kernel has one resolution: leave this key out");
    }
    return kernel;
}

// One value a channel; official files hold (1, H, 1), or a scalar in learnable mode.
ir::ValueId growth(Lowering &lowering, const Layer &layer, const Kernel &kernel,
                   std::vector<double> &values) {
    const package::Tensor *tensor = lowering.find(layer, "multiplier");
    if (!tensor ? kernel.words.learnable : tensor->data.size() == 1) {
        values.assign(kernel.heads, tensor ? double{tensor->data[0]} : 1.0);
        return lowering.constant(layer.key("multiplier") + ".each", {kernel.heads}, values);
    }
    const std::vector<std::vector<uint32_t>> stored = {{1, kernel.heads, 1}};
    if (tensor) values.assign(tensor->data.begin(), tensor->data.end());
    return lowering.weight(layer, "multiplier", {kernel.heads}, stored);
}

ir::ValueId decay(Lowering &lowering, const Layer &layer, const Kernel &kernel, std::vector<double> &values) {
    values.assign(kernel.heads, 0.0);
    if (!kernel.words.learnable &&
        lowering.find(layer, "decay")) { // only learnable modes have one: the mode must be wrong
        lowering.problem(layer, "mode",
                         "a mode with learnable, because the weights have " +
                             package::in_quotes(layer.key("decay")),
                         package::in_quotes(kernel.mode), "for example \"cat_randn_learnable\"");
    }
    if (!kernel.words.learnable) return lowering.constant("zeros", {kernel.heads}, values);
    if (const package::Tensor *tensor = lowering.find(layer, "decay"))
        values.assign(tensor->data.begin(), tensor->data.end());
    return lowering.weight(layer, "decay", {kernel.heads});
}

// The norm is used as stored. Where the layer never ran (flag 0) it is what the first forward pass
// would have stored.
ir::ValueId kernel_norm(Lowering &lowering, const Layer &layer, const Kernel &kernel,
                        const std::vector<double> &growths, const std::vector<double> &decays) {
    const std::vector<uint32_t> shape = {kernel.rows, kernel.heads};
    const std::vector<double> initialized = lowering.numbers(layer, "kernel_norm_initialized", {}, {{}, {1}});
    if (initialized.empty() || initialized[0] != 0) {
        if (const package::Tensor *tensor = lowering.find(layer, "kernel_norm")) {
            auto bad =
                std::find_if(tensor->data.begin(), tensor->data.end(), [](float v) { return !(v > 0); });
            if (bad != tensor->data.end()) {
                lowering.problem(
                    layer, "", "norms above zero in " + package::in_quotes(layer.key("kernel_norm")),
                    std::to_string(*bad) + " at index " + std::to_string(bad - tensor->data.begin()),
                    "set kernel_norm_initialized to 0 to have it computed");
            }
        }
        return lowering.weight(layer, "kernel_norm", shape, {{kernel.rows, kernel.heads, 1}});
    }
    std::vector<std::vector<double>> lists;
    for (uint32_t i = 0; i < kernel.scales.num_scales; ++i) {
        const package::Tensor *tensor = lowering.find(layer, "kernel_list." + std::to_string(i));
        if (!tensor || tensor->data.size() != size_t{kernel.rows} * kernel.heads * kernel.scales.kernel_dim)
            return lowering.constant(layer.key("kernel_norm"), shape, {}); // reported as a weight
        lists.emplace_back(tensor->data.begin(), tensor->data.end());
    }
    if (growths.size() != kernel.heads || decays.size() != kernel.heads)
        return lowering.constant(layer.key("kernel_norm"), shape, {});
    std::vector<double> norm =
        ir::first_forward_norm(kernel.scales, kernel.words.learnable, lists, growths, decays);
    if (std::any_of(norm.begin(), norm.end(), [](double v) { return !(v > 0); })) {
        lowering.problem(layer, "", "a kernel that is not zero everywhere",
                         "the same row of zeros in all tensors " +
                             package::in_quotes(layer.key("kernel_list.*")),
                         "it has no norm to be divided by");
    }
    return lowering.constant(layer.key("kernel_norm") + ".computed", shape, std::move(norm));
}

// Taps [rows, heads, K] of the parameters kernel_list.#, kernel_norm, kernel_norm_initialized,
// multiplier and decay of `layer`, whose attributes are kernel_dim, l_max, mode, init_scale and,
// where given, num_scales and resolution. `rows`: copies of each head, then as many backward
// kernels where it is two-sided.
Expected<Flow> multi_scale_taps(Lowering &lowering, const Layer &layer, uint32_t rows, uint32_t heads) {
    LW_ASSIGN(const Kernel kernel, read_kernel(lowering, layer, rows, heads));
    std::vector<ir::ValueId> operands;
    for (uint32_t i = 0; i < kernel.scales.num_scales; ++i) {
        operands.push_back(lowering.weight(layer, "kernel_list." + std::to_string(i),
                                           {kernel.rows, kernel.heads, kernel.scales.kernel_dim}));
    }
    std::vector<double> growths, decays;
    const ir::ValueId growth_id = growth(lowering, layer, kernel, growths),
                      decay_id = decay(lowering, layer, kernel, decays);
    operands.push_back(kernel_norm(lowering, layer, kernel, growths, decays));
    operands.insert(operands.end(), {growth_id, decay_id});
    return lowering.node(layer, "sgconv_kernel", std::move(operands),
                         {{"mode", kernel.mode},
                          {"kernel_dim", int64_t{kernel.scales.kernel_dim}},
                          {"num_scales", int64_t{kernel.scales.num_scales}},
                          {"init_scale", int64_t{kernel.scales.init_scale}},
                          {"l_max", int64_t{kernel.l_max}},
                          {"resolution", int64_t{kernel.resolution}},
                          {"channels", int64_t{kernel.rows}},
                          {"heads", int64_t{kernel.heads}}},
                         Form::features);
}

// The flavour of the extra norm follows from its keys: weight and bias, or m and s.
Expected<Flow> extra_norm(Lowering &lowering, const Layer &layer, Flow x) {
    const bool scalars = lowering.find(layer, "norm.norm.m") || lowering.find(layer, "norm.norm.s");
    const bool vectors = lowering.find(layer, "norm.norm.weight") || lowering.find(layer, "norm.norm.bias");
    if (scalars && vectors) {
        lowering.problem(layer, "layer_norm",
                         "either norm.norm.weight and norm.norm.bias, or norm.norm.m and norm.norm.s",
                         "some of both in the weights");
    }
    if (scalars) {
        const ir::ValueId m = lowering.weight(layer, "norm.norm.m", {1}, {{1}, {}}),
                          s = lowering.weight(layer, "norm.norm.s", {1}, {{1}, {}});
        return lowering.node(layer, "transposed_layer_norm", {x.value, m, s}, {}, x.form);
    }
    const uint32_t width = lowering.width(x);
    const ir::ValueId weight = lowering.weight(layer, "norm.norm.weight", {width}),
                      bias = lowering.weight(layer, "norm.norm.bias", {width});
    return lowering.node(layer, "layer_norm", {x.value, weight, bias}, {{"eps", 1e-5}}, x.form);
}

// The op an option names; nothing for "identity".
Expected<Flow> activation(Lowering &lowering, const Layer &layer, const char *option, Flow x) {
    const std::string op = layer.attributes.at(option);
    return op == "identity" ? Expected<Flow>(x) : lowering.node(layer, op, {x.value}, {}, x.form);
}

} // namespace

Expected<Flow> lower_sgconv(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t heads, feature_width(lowering, layer, inputs[0]));
    const uint32_t copies = integer(layer, "channels");
    LW_ASSIGN(const Flow k,
              multi_scale_taps(lowering, layer, copies * (flag(layer, "bidirectional") ? 2 : 1), heads));
    const ir::ValueId d = lowering.weight(layer, "D", {copies, heads});
    LW_ASSIGN(Flow y, lowering.node(layer, "long_conv", {inputs[0].value, k.value, d},
                                    {{"channels", int64_t{copies}},
                                     {"two_sided", int64_t{flag(layer, "bidirectional")}}},
                                    copies > 1 && heads > 1 ? Form::flat : Form::features));
    if (flag(layer, "linear")) return y;

    LW_ASSIGN(y, activation(lowering, layer, "activation", y));
    if (flag(layer, "layer_norm")) {
        LW_ASSIGN(y, extra_norm(lowering, layer, y));
    }
    const bool activated = !layer.attributes.at("postact").is_null(),
               gated = layer.attributes.at("postact") == "glu";
    LW_ASSIGN(y, lowering.product(layer, activated ? "output_linear.0" : "output_linear", y,
                                  gated ? 2 * heads : heads, true));
    return activated ? activation(lowering, layer, "postact", y) : Expected<Flow>(y);
}

// short_long: parallel short branches and a long convolution per feature. They are in series with
// SiLU between them (CHELA, Eq. 8), in series without it, or in parallel: branches -> silu ->
// long_conv. The long kernel is given as taps or as the parameters of sgconv.

namespace {

// k0 of lags 0 …, and for two sides k1 of lags −1 …, each (H, K), as one constant [1 or 2, H, K].
Expected<Flow> given_taps(Lowering &lowering, const Layer &part, uint32_t width, bool two_sided) {
    const package::Tensor *k0 = lowering.find(part, "k0");
    if (!k0 || k0->shape.size() != 2 || k0->shape[1] == 0 || k0->shape[1] > (1u << 28))
        return lowering.failure(
            part, "", "tensor " + package::in_quotes(part.key("k0")) + " of shape (features, taps)",
            k0 ? "another shape" : "no such tensor", "or \"long\": \"sgconv\" for multi-scale parameters");
    const auto taps = static_cast<uint32_t>(k0->shape[1]);
    std::vector<double> k = lowering.numbers(part, "k0", {width, taps});
    if (two_sided) {
        const std::vector<double> k1 = lowering.numbers(part, "k1", {width, taps});
        k.insert(k.end(), k1.begin(), k1.end());
    }
    const uint32_t rows = two_sided ? 2 : 1;
    if (k.size() != size_t{rows} * width * taps) k.clear(); // reported
    return Flow{lowering.constant(part.key("k0") + ".sides", {rows, width, taps}, std::move(k)),
                Form::features};
}

Expected<Flow> long_convolution(Lowering &lowering, const Layer &layer, Flow x, uint32_t width) {
    const Layer part = part_of(layer, "long", "sgconv", layer.attributes);
    const bool two_sided = !flag(layer, "causal"), multi_scale = layer.attributes.at("long") == "sgconv";
    if (multi_scale)
        for (const char *needed : {"kernel_dim", "l_max"})
            if (!layer.attributes.contains(needed))
                return lowering.failure(layer, needed, "this key (\"long\": \"sgconv\" needs it)",
                                        "no such key");
    LW_ASSIGN(const Flow k, multi_scale ? multi_scale_taps(lowering, part, two_sided ? 2 : 1, width)
                                        : given_taps(lowering, part, width, two_sided));
    const ir::ValueId d = flag(layer, "long_d")
                              ? lowering.weight(part, "D", {1, width}, {{width}, {1, width}})
                              : lowering.constant("no D", {1, width}, std::vector<double>(width));
    return lowering.node(part, "long_conv", {x.value, k.value, d},
                         {{"channels", int64_t{1}}, {"two_sided", int64_t{two_sided}}}, Form::features);
}

} // namespace

Expected<Flow> short_long(Lowering &lowering, const Layer &layer, Flow x) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, x));
    const Layer branches = part_of(
        layer, "short", "branches",
        {{"branches", layer.attributes.at("short_branches")}, {"causal", layer.attributes.at("causal")}});
    LW_ASSIGN(Flow y, lower_branches(lowering, branches, one(x)));
    const std::string mode = layer.attributes.at("short_mode");
    if (mode == "parallel") {
        LW_ASSIGN(const Flow z, long_convolution(lowering, layer, x, width));
        return lowering.node(layer, "add", {y.value, z.value}, {}, Form::features);
    }
    if (mode == "serial_silu") {
        LW_ASSIGN(y, lowering.node(branches, "silu", {y.value}, {}, Form::features));
    }
    return long_convolution(lowering, layer, y, width);
}

Expected<Flow> lower_short_long(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    return short_long(lowering, layer, inputs[0]);
}

} // namespace longwave::compiler::layers
