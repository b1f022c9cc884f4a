#include "formats/huggingface/mamba2_mixer.h"

namespace longwave::huggingface {
namespace {

struct Widths {
    std::string inner, shared, mixed;

    explicit Widths(const Mamba2Mixer &m)
        : inner(m.heads + " * " + m.head_dim), shared(m.groups + " * " + m.state),
          mixed(inner + " + 2 * " + shared) {}
};

} // namespace

std::vector<TensorRow> tensors_of(const Mamba2Mixer &m) {
    const Widths w(m);
    const std::string at = m.at + "/", name = m.at + ".";
    std::vector<TensorRow> made = projection_tensors(
        at + "in_proj", w.inner + " + " + w.mixed + " + " + m.heads, "hidden_size", m.bias);
    append(made, short_convolution_tensors(at + "conv1d", w.mixed, m.taps, m.bias_of_taps));
    append(made, {{name + "dt_bias", {m.heads}},
                  {name + "A_log", {m.heads}},
                  {name + "D", {m.heads}},
                  {name + "norm.weight", {w.inner}}});
    append(made, projection_tensors(at + "out_proj", "hidden_size", w.inner, m.bias_out));
    return made;
}

std::vector<Row> rows_of(const Mamba2Mixer &m) {
    const Widths w(m);
    const std::string at = m.at + "/", name = m.at + ".";
    return {
        projection(at + "in_proj", m.from, m.bias),
        taken(at + "gate", at + "in_proj", "0", w.inner),
        taken(at + "mixed", at + "in_proj", w.inner, w.mixed),
        taken(at + "time_step", at + "in_proj", w.inner + " + " + w.mixed, m.heads),
        short_convolution(at + "conv1d", at + "mixed", w.mixed, m.bias_of_taps),
        {at + "activated", "=" + m.activation, {value(at + "conv1d")}},
        taken(at + "values", at + "activated", "0", w.inner),
        taken(at + "B", at + "activated", w.inner, w.shared),
        taken(at + "C", at + "activated", w.inner + " + " + w.shared, w.shared),
        {at + "biased", "affine", {value(at + "time_step"), ones(m.heads), tensor(name + "dt_bias")}},
        {at + "softplus", "softplus", {value(at + "biased")}},
        {at + "dt",
         "clamp",
         {value(at + "softplus")},
         {number("low", m.least), number("high", m.most)},
         m.limited},
        {at + "exponent", "affine", {value(at + "dt"), minus_exp(name + "A_log"), zeros(m.heads)}},
        {at + "decay", "exp", {value(at + "exponent")}},
        taken(at + "dt_of_values", at + "dt", "0", m.heads, m.head_dim),
        {at + "scaled", "mul", {value(at + "values"), value(at + "dt_of_values")}},
        {at + "state",
         "matrix_recurrence",
         {value(at + "C"), value(at + "B"), value(at + "scaled"), value(at + "decay")},
         {size("heads", m.heads), size("key_heads", m.groups), text("decay", "head"), size("rank_one", "0")}},
        {at + "skip", "affine", {value(at + "values"), spread(name + "D", m.head_dim), zeros(w.inner)}},
        {at + "read", "add", {value(at + "state"), value(at + "skip")}},
        {at + "silu", "silu", {value(at + "gate")}},
        {at + "gated", "mul", {value(at + "read"), value(at + "silu")}},
        norm(at + "norm", at + "gated", tensor(name + "norm.weight"), m.eps, m.groups),
        projection(at + "out_proj", at + "norm", m.bias_out),
    };
}

} // namespace longwave::huggingface
