// The layers of CHELA, Orchid, LightNet and S4D.
#include "formats/package/attribute_types.h"

namespace longwave::package {
namespace {

// Where rows are the positions of an image: sizes of its axes, such as "8x11".
AttributeType shape() { return {"shape", AttributeKind::text, false}; }
const std::vector<std::string> activations = {"gelu", "relu", "silu", "sigmoid", "tanh", "identity"};

LayerType lightnet_attention_type() {
    std::vector<ParameterType> parameters;
    for (const char *which : {"q", "k", "v", "o"}) {
        const std::string name = std::string(which) + "_proj", on = *which == 'o' ? "output_projection" : "";
        parameters.push_back({name + ".weight", on.empty() ? std::vector<std::string>{} : std::vector{on}});
        parameters.push_back({name + ".bias", {on.empty() ? "bias" : on}});
        if (*which == 'o') continue;
        parameters.push_back({std::string(which) + "_conv1d.weight", {"short_conv"}});
        parameters.push_back({std::string(which) + "_conv1d.bias", {"short_conv", "conv_bias"}});
    }
    parameters.insert(parameters.end(), {{"output_gate.weight", {"gate", "!gate_rank"}},
                                         {"output_gate.bias", {"gate", "!gate_rank", "gate_bias"}},
                                         {"output_gate.0.weight", {"gate", "gate_rank"}},
                                         {"output_gate.0.bias", {"gate", "gate_rank", "gate_bias"}},
                                         {"output_gate.1.weight", {"gate", "gate_rank"}},
                                         {"output_gate.1.bias", {"gate", "gate_rank", "gate_bias"}},
                                         {"norm.weight", {"norm"}},
                                         {"norm.bias", {"norm"}},
                                         {"lrpe.theta", {"lrpe"}}});
    return {"lightnet_attention",
            {size_or("heads", "1"),
             size_or("key_width", ""),
             size_or("value_width", ""),
             flag("causal", "true"),
             count_or("initial_sum", "0", 1),
             word("query_activation", "\"silu\"", activations),
             {"scale", AttributeKind::number, false, "1", 1e-6, 1e6},
             flag("bias", "false"),
             flag("output_bias", ""),
             size_or("short_conv", ""),
             flag("conv_bias", "false"),
             word("gate", "\"after_norm\"", {"null", "before_norm", "after_norm"}),
             word("gate_activation", "\"sigmoid\"", activations),
             size_or("gate_rank", ""),
             flag("gate_bias", "false"),
             word("norm", "\"rms\"", {"null", "rms", "layer"}),
             small("norm_eps", "1e-6"),
             flag("output_projection", "true"),
             word("lrpe", "null", {"null", "cosine"}),
             {"lrpe_base", AttributeKind::number, false, "0", 0, 1e12},
             shape(),
             count_or("conditions", "0", max_dim),
             word("theta_layout", "\"shared\"", {"shared", "sliced"})},
            std::move(parameters),
            false,
            false,
            true};
}

// What stands around it: positions, and the GLU of language models.
std::vector<LayerType> lightnet_types() {
    return {
        lightnet_attention_type(),
        {"lrpe",
         {size_or("heads", "1"), shape(), count_or("conditions", "0", max_dim),
          word("theta_layout", "\"shared\"", {"shared", "sliced"})},
         {{"theta"}}},
        {"tpe",
         {size_or("heads", "1"), small("norm_eps", "1e-6"), shape()},
         {{"q", {"!shape"}},
          {"k", {"!shape"}},
          {"log_decay", {"!shape"}},
          {"norm.weight", {"!shape"}},
          {"o_proj.weight", {"!shape"}},
          {"tpes.#.q", {"shape"}},
          {"tpes.#.k", {"shape"}},
          {"tpes.#.log_decay", {"shape"}},
          {"tpes.#.norm.weight", {"shape"}},
          {"tpes.#.o_proj.weight", {"shape"}}}},
        {"exponential_sums", {size("modes"), shape()}, {{"lambda"}, {"c"}}},
        {"gated_mlp",
         {size("hidden"), word("activation", "\"silu\"", {"gelu", "relu", "silu", "sigmoid", "tanh"}),
          flag("bias", "false")},
         {{"w1.weight"},
          {"w1.bias", {"bias"}},
          {"w2.weight"},
          {"w2.bias", {"bias"}},
          {"w3.weight"},
          {"w3.bias", {"bias"}}}},
    };
}

// Attributes and parameters of a short-long convolution, alone or in a block.
LayerType short_long_type() {
    return {"short_long",
            {flag("causal", "true"),
             {"short_branches", AttributeKind::branches},
             word("short_mode", "\"serial_silu\"", {"serial_silu", "serial_linear", "parallel"}),
             word("long", "\"taps\"", {"taps", "sgconv"}),
             flag("long_d", "false"),
             size_or("kernel_dim", ""),
             size_or("l_max", ""),
             {"mode", AttributeKind::text, false, "\"cat_randn\""},
             count_or("init_scale", "0", 23),
             {"num_scales", AttributeKind::integer, false, "", 1, 24}},
            {{"short.#.conv.weight"},
             {"short.#.conv.bias"},
             {"short.#.bn.weight"},
             {"short.#.bn.bias"},
             {"short.#.bn.running_mean"},
             {"short.#.bn.running_var"},
             {"long.k0"},
             {"long.k1", {"!causal"}},
             {"long.D", {"long_d"}},
             {"long.kernel_list.#"},
             {"long.kernel_norm"},
             {"long.kernel_norm_initialized"},
             {"long.multiplier"},
             {"long.decay"}}};
}

LayerType chela_type() {
    LayerType type = short_long_type();
    type.name = "chela";
    const std::vector<std::string> norms = {"batch", "layer", "scale", "rms", "none"};
    const std::vector<AttributeType> more = {word("norm", "\"batch\"", norms),
                                             small("norm_eps", "1e-5"),
                                             flag("prenorm", "true"),
                                             word("residual", "\"raw\"", {"raw", "normalised"}),
                                             size_or("heads", "1"),
                                             size_or("value_width", ""),
                                             flag("h_proj", "false"),
                                             word("att_norm", "\"srms\"", {"srms", "rms", "layer", "none"}),
                                             small("att_norm_eps", "1e-6"),
                                             size_or("att_norm_groups", "1"),
                                             size_or("ffn_width", ""),
                                             word("ffn_activation", "\"silu\"", {"silu", "gelu", "relu"})};
    type.attributes.insert(type.attributes.end(), more.begin(), more.end());
    for (const char *stem : {"norm", "nffn.norm"})
        for (const char *name : {"weight", "bias", "running_mean", "running_var", "scalar"})
            type.parameters.push_back({std::string(stem) + "." + name});
    for (const char *stem : {"v_proj", "g_proj", "o_gate", "h_proj", "nffn.fc1", "nffn.fc2"})
        for (const char *name : {".weight", ".bias"}) type.parameters.push_back({stem + std::string(name)});
    for (const char *name : {"gamma", "beta", "att_norm.weight", "att_norm.bias"})
        type.parameters.push_back({name});
    type.values = {"Z", "A", "M", "U"};
    return type;
}

LayerType orchid_type() {
    LayerType type{
        "orchid",
        {size("l_max"),
         word("transform", "\"fft\"", {"fft", "fft-o", "dct", "dctxd-o"}),
         word("conditioning", "\"absfreq\"", {"absfreq", "freq", "corrTime"}),
         word("network", "\"convtf\"", {"convt", "conv2t", "convf", "conv2f", "convtf", "conv2tf"}),
         size_or("kernel_size", "3"),
         {"kernel_layers", AttributeKind::integer, false, "1", 1, 16},
         word("kernel_activation", "\"gelu\"", {"gelu", "relu", "silu", "sigmoid", "tanh", "identity"}),
         word("actq", "\"id\"",
              {"id", "gelu", "relu", "sigmoid", "silu", "tanh", "gelu_abs", "relu_abs", "sigmoid_abs",
               "silu_abs", "tanh_abs"}),
         flag("causal", "true"),
         size_or("short_conv", "3"),
         flag("residual_long_conv", "true"),
         size_or("filter_order", "64"),
         size_or("emb_dim", "3"),
         {"num_inner_mlps", AttributeKind::integer, false, "2", 0, 24},
         {"shift", AttributeKind::number, false, "0", 0, 1}},
        {{"in_linear.weight"},
         {"in_linear.bias"},
         {"out_linear.weight"},
         {"out_linear.bias"},
         {"conv1d_short.weight"},
         {"conv1d_short.bias"}}};
    for (const char *filter : {"fixed_conv", "fixed_conv_res"}) {
        std::vector<std::string> when;
        if (type.parameters.size() > 6) when = {"residual_long_conv"};
        for (const char *name : {".bias", ".pos_emb.z", ".pos_emb.t", ".implicit_filter.#.weight",
                                 ".implicit_filter.#.bias", ".implicit_filter.#.freq", ".modulation.deltas"})
            type.parameters.push_back({std::string(filter) + name, when});
    }
    for (const char *model : {"nn_model", "nn_model2", "nn_model_k", "nn_model_q", "nn_model_frq"})
        for (const char *name : {".conv1d_ls.#.weight", ".conv1d_ls.#.bias",
                                 ".norm_ls.#.norm_conv_kernel.weight", ".norm_ls.#.norm_conv_kernel.bias"})
            type.parameters.push_back({std::string("conv_kernel_nn.") + model + name});
    return type;
}

} // namespace

std::vector<LayerType> family_types() {
    std::vector<LayerType> types = lightnet_types();
    types.insert(
        types.end(),
        {short_long_type(),
         {"state_space",
          {size("states"), {"channels", AttributeKind::integer, false, "1", 1, 64}, flag("s4d", "false")},
          {{"poles", {"!s4d"}},
           {"c", {"!s4d"}},
           {"kernel.log_dt", {"s4d"}},
           {"kernel.C", {"s4d"}},
           {"kernel.log_A_real", {"s4d"}},
           {"kernel.A_imag", {"s4d"}},
           {"D"}}},
         chela_type(),
         orchid_type(),
         {"m2_mlp",
          {size("intermediate"), count_or("blocks", "4", 4096), small("eps", "1e-12")},
          {{"gated_layers.weight"}, {"wo.weight"}, {"wo.bias"}, {"layernorm.weight"}, {"layernorm.bias"}}}});
    return types;
}

} // namespace longwave::package
