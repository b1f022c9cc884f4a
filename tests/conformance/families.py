"""Small seeded packages of each family, for tests through the command line: any width, any number of layers, the layer's options as they stand in model.json.
Weights have the official state-dict names. Standard library only; sc10_package.write() writes what these functions return.

Every one reads rows of `width` features named x, so that a model may be as narrow as one channel.
"""

import array
import math
import random


class Weights:
    def __init__(self, seed=7):
        self.random, self.tensors = random.Random(seed), {}

    def normal(self, key, shape, scale, mean=0.0):
        """Of this mean and deviation; uniform where there are many, which takes a tenth of the time."""
        count = math.prod(shape)
        if count < 100_000:
            values = (self.random.gauss(mean, scale) for _ in range(count))
        else:
            step = scale * math.sqrt(3) / 2**31
            values = (mean + step * x for x in array.array("i", self.random.randbytes(4 * count)))
        self.tensors[key] = (shape, array.array("f", values))

    def positive(self, key, shape):
        self.tensors[key] = (shape, array.array("f", (0.5 + self.random.random() for _ in range(math.prod(shape)))))

    def constant(self, key, shape, value):
        self.tensors[key] = (shape, array.array("f", [value] * math.prod(shape)))

    def batch_norm(self, prefix, width):
        self.normal(f"{prefix}.bias", [width], 0.1)
        self.normal(f"{prefix}.running_mean", [width], 0.1)
        self.positive(f"{prefix}.weight", [width])
        self.positive(f"{prefix}.running_var", [width])

    def linear(self, prefix, out, width, bias=True):
        self.normal(f"{prefix}.weight", [out, width], width**-0.5)
        if bias:
            self.normal(f"{prefix}.bias", [out], 0.1)


def model(name, width, layers, outputs=None):
    """`outputs`: addresses of layers; without them the last layer's."""
    outputs = outputs or [layers[-1]["name"]]
    return {
        "format": "longwave-model",
        "version": 1,
        "name": name,
        "inputs": [{"name": "x", "kind": "features", "width": width}],
        "layers": layers,
        "outputs": [{"name": f"y{i}" if i else "y", "from": address} for i, address in enumerate(outputs)],
    }


def sgconv_layer(weights, name, width, kernel_dim=8, l_max=200, **options):
    sides, copies = 2 if options.get("bidirectional") else 1, options.get("channels", 1)
    scales = 1 + math.ceil(math.log2(l_max / kernel_dim)) - options.get("init_scale", 0)
    for i in range(scales):
        weights.normal(f"{name}.kernel_list.{i}", [sides * copies, width, kernel_dim], 1.0)
    weights.constant(f"{name}.kernel_norm_initialized", [], 0.0)
    if "learnable" in options.get("mode", ""):
        weights.constant(f"{name}.multiplier", [], 1.0)
        weights.positive(f"{name}.decay", [width])
    else:
        weights.constant(f"{name}.multiplier", [1, width, 1], 2.0)
    weights.normal(f"{name}.D", [copies, width], 1.0)
    if not options.get("linear"):
        glu = options.get("postact") == "glu"
        weights.linear(
            f"{name}.output_linear.0" if glu else f"{name}.output_linear", 2 * width if glu else width, copies * width
        )
    return {"type": "sgconv", "name": name, "kernel_dim": kernel_dim, "l_max": l_max, **options}


def sgconv(width=24, depth=2, norm="batch_norm", **options):
    weights, layers = Weights(), []
    for n in range(depth):
        layer = sgconv_layer(weights, f"layers.{n}.conv", width, **options)
        if options.get("linear"):
            layers.append(layer)
            continue
        block = {"type": "residual", "name": f"layers.{n}", "norm": {"type": norm}, "layers": [layer]}
        if norm == "batch_norm":
            weights.batch_norm(f"layers.{n}.norm", width)
        else:
            weights.positive(f"layers.{n}.norm.weight", [width])
            weights.normal(f"layers.{n}.norm.bias", [width], 0.1)
        layers.append(block)
    return model("sgconv", width, layers), weights.tensors


def chela_layer(weights, name, width, taps=200, ffn=True, gate_bias=0.0, **options):
    """`gate_bias`: of the output gates; far below 0 they let little through, without which a deep block of random weights is chaotic."""
    causal = options.get("causal", True)
    layer = {
        "type": "chela",
        "name": name,
        "long_d": True,
        "short_branches": [
            {"kind": "conv1d", "kernel": 3, "bias": False, "batch_norm": True},
            {"kind": "conv1d", "kernel": 7, "dilation": 2, "bias": False, "batch_norm": True},
            {"kind": "identity"},
        ],
        **options,
    }
    if ffn:
        layer["ffn_width"] = 2 * width
    for i, size in enumerate((3, 7)):
        weights.normal(f"{name}.short.{i}.conv.weight", [width, 1, size], size**-0.5)
        weights.batch_norm(f"{name}.short.{i}.bn", width)
    if options.get("long") == "sgconv":
        for i in range(1 + math.ceil(math.log2(options["l_max"] / options["kernel_dim"]))):
            weights.normal(f"{name}.long.kernel_list.{i}", [1 if causal else 2, width, options["kernel_dim"]], 1.0)
        weights.constant(f"{name}.long.kernel_norm_initialized", [], 0.0)
        weights.constant(f"{name}.long.multiplier", [1, width, 1], 2.0)
    else:
        for side in ("k0",) if causal else ("k0", "k1"):
            weights.normal(f"{name}.long.{side}", [width, taps], taps**-0.5)
    weights.normal(f"{name}.long.D", [width], 1.0)
    for norm in ("norm", "nffn.norm") if ffn else ("norm",):
        if layer.get("norm", "batch") == "batch":
            weights.batch_norm(f"{name}.{norm}", width)
        elif layer["norm"] == "layer":
            weights.positive(f"{name}.{norm}.weight", [width])
            weights.normal(f"{name}.{norm}.bias", [width], 0.1)
    weights.normal(f"{name}.gamma", [2, width], 0.3, 1.0)
    weights.normal(f"{name}.beta", [2, width], 0.1)
    for projection in ("v_proj", "g_proj", "o_gate"):
        weights.linear(f"{name}.{projection}", width, width)
    if gate_bias:
        weights.normal(f"{name}.o_gate.bias", [width], 0.1, gate_bias)
    if ffn:
        weights.linear(f"{name}.nffn.fc1", 2 * width, width)
        weights.linear(f"{name}.nffn.fc2", width, 2 * width)
    return layer


def chela(width=24, depth=2, **options):
    weights = Weights()
    layers = [chela_layer(weights, f"layers.{n}", width, **options) for n in range(depth)]
    return model("chela", width, layers), weights.tensors


def lightnet_layer(weights, name, width, **options):
    layer = {"type": "lightnet_attention", "name": name, **options}
    heads, keys, values = (
        options.get(key, default) for key, default in (("heads", 1), ("key_width", width), ("value_width", width))
    )
    bias = options.get("bias", False)
    for which, out in (("q", keys), ("k", keys), ("v", values)):
        weights.linear(f"{name}.{which}_proj", out, width, bias)
        if "short_conv" in options:
            weights.normal(
                f"{name}.{which}_conv1d.weight", [out, 1, options["short_conv"]], options["short_conv"] ** -0.5
            )
            if options.get("conv_bias"):
                weights.normal(f"{name}.{which}_conv1d.bias", [out], 0.1)
    if options.get("output_projection", True):
        weights.linear(f"{name}.o_proj", width, values, options.get("output_bias", bias))
    if options.get("gate", "after_norm"):
        if "gate_rank" in options:
            weights.linear(f"{name}.output_gate.0", options["gate_rank"], width, options.get("gate_bias", False))
            weights.linear(f"{name}.output_gate.1", values, options["gate_rank"], options.get("gate_bias", False))
        else:
            weights.linear(f"{name}.output_gate", values, width, options.get("gate_bias", False))
    if options.get("norm", "rms"):
        weights.positive(f"{name}.norm.weight", [values])
        if options.get("norm") == "layer":
            weights.normal(f"{name}.norm.bias", [values], 0.1)
    if options.get("lrpe") and not options.get("lrpe_base"):
        # One turn in 6 to 6,000 positions.
        weights.tensors[f"{name}.lrpe.theta"] = (
            [keys // heads],
            array.array("f", (1000 ** -weights.random.random() for _ in range(keys // heads))),
        )
    return layer


def tpe_layer(weights, name, width, heads=1, shape=None):
    layer = {"type": "tpe", "name": name, "heads": heads, **({"shape": shape} if shape else {})}
    for prefix in [f"{name}.tpes.{i}" for i in range(shape.count("x") + 1)] if shape else [name]:
        weights.normal(f"{prefix}.q", [width], 1.0)
        weights.normal(f"{prefix}.k", [width], 1.0)
        weights.normal(f"{prefix}.log_decay", [heads], 1.0, 2.0)
        weights.positive(f"{prefix}.norm.weight", [width])
        weights.linear(f"{prefix}.o_proj", width, width, bias=False)
    return layer


def exponential_sums_layer(weights, name, width, modes, shape=None):
    axes = shape.count("x") + 1 if shape else 1
    count = axes * width * modes
    weights.tensors[f"{name}.lambda"] = (
        [axes, width, modes],
        array.array("f", (1 - 0.5 * weights.random.random() for _ in range(count))),
    )
    weights.normal(f"{name}.c", [axes, width, modes], 0.3)
    return {"type": "exponential_sums", "name": name, "modes": modes, **({"shape": shape} if shape else {})}


def state_space_layer(weights, name, width, states, s4d=False, channels=1):
    """Steps from 0.001 to 0.1 and poles as S4D initialises them: memories of 20 to 2,000 rows."""
    rates = array.array("f", (math.log(0.001) + math.log(100) * weights.random.random() for _ in range(width)))
    if s4d:
        weights.tensors[f"{name}.kernel.log_dt"] = ([width], rates)
        weights.tensors[f"{name}.kernel.log_A_real"] = (
            [width, states],
            array.array("f", [math.log(0.5)] * (width * states)),
        )
        weights.tensors[f"{name}.kernel.A_imag"] = (
            [width, states],
            array.array("f", (math.pi * n for _ in range(width) for n in range(states))),
        )
        weights.normal(f"{name}.kernel.C", [channels, width, states, 2], 1.0)
    else:
        parts = ((-0.5 * math.exp(rate), math.pi * n * math.exp(rate)) for rate in rates for n in range(states))
        weights.tensors[f"{name}.poles"] = (
            [width, states, 2],
            array.array("f", (part for pair in parts for part in pair)),
        )
        weights.normal(f"{name}.c", [channels, width, states, 2], 0.05)
    weights.normal(f"{name}.D", [channels, width], 1.0)
    return {"type": "state_space", "name": name, "states": states, "channels": channels, "s4d": s4d}


def lightnet(width=16, depth=2, before=None, mask=None, block_norm="rms_norm", glu=True, **options):
    """Blocks of attention and GLU, as in its language models. `before`: a function that makes the layer in front of them; `mask`: the channel of x that, where it is
    not positive, says that a position is padding."""
    weights, layers = Weights(), []
    if before:
        layers.append(before(weights, "before", width))
    if mask is not None:
        weights.tensors["mask.pick.weight"] = ([1, width], array.array("f", (float(c == mask) for c in range(width))))
        layers += [
            {"type": "linear", "name": "mask.pick", "input": "x", "out_features": 1, "bias": False},
            {"type": "relu", "name": "mask"},
        ]
    for n in range(depth):
        attention = lightnet_layer(weights, f"layers.{n}.attention", width, **options)
        if mask is not None:
            attention["inputs"] = [layers[-1]["name"] if n else "x", "mask"]
            layers.append(attention)
            continue
        mlp = {"type": "gated_mlp", "name": f"layers.{n}.mlp", "hidden": 2 * width}
        parts = [("token", attention), ("channel", mlp)] if glu else [("token", attention)]
        for which, (out, size) in {
            "w1": (2 * width, width),
            "w2": (2 * width, width),
            "w3": (width, 2 * width),
        }.items():
            if glu:
                weights.linear(f"layers.{n}.mlp.{which}", out, size, bias=False)
        for part, layer in parts:
            name = f"layers.{n}.{part}"
            if block_norm:
                weights.positive(f"{name}.norm.weight", [width])
            layers.append(
                {
                    "type": "residual",
                    "name": name,
                    "norm": {"type": block_norm} if block_norm else None,
                    "layers": [layer],
                }
            )
    return model("lightnet", width, layers), weights.tensors


def orchid_layer(weights, name, width, l_max, transform="fft", filter_order=8, emb_dim=3, num_inner_mlps=1, **options):
    """Its conditioning is that of `absfreq` with `convtf`. Static kernels from the Hyena filter's own positions (emb_dim 3: one band of frequencies)."""
    layer = {
        "type": "orchid",
        "name": name,
        "l_max": l_max,
        "transform": transform,
        "filter_order": filter_order,
        "emb_dim": emb_dim,
        "num_inner_mlps": num_inner_mlps,
        **options,
    }
    weights.linear(f"{name}.in_linear", 3 * width, width)
    weights.linear(f"{name}.out_linear", width, width)
    weights.normal(f"{name}.conv1d_short.weight", [3 * width, 1, 3], 0.6)
    weights.normal(f"{name}.conv1d_short.bias", [3 * width], 0.1)
    time = [t / max(1, l_max - 1) for t in range(l_max)]
    turns = [2 * math.pi * t / l_max * 1e-4 for t in range(l_max)]
    for filter in ("fixed_conv", "fixed_conv_res"):
        weights.normal(f"{name}.{filter}.bias", [width], 1.0)
        weights.tensors[f"{name}.{filter}.pos_emb.z"] = (
            [1, l_max, 3],
            array.array("f", (x for t, w in zip(time, turns) for x in (t, math.cos(w), -math.sin(w)))),
        )
        weights.tensors[f"{name}.{filter}.pos_emb.t"] = ([1, l_max, 1], array.array("f", time))
        sizes = [emb_dim, *[filter_order] * (num_inner_mlps + 1)]
        for n, (size, out) in enumerate(zip(sizes, sizes[1:])):
            weights.linear(f"{name}.{filter}.implicit_filter.{2 * n}", out, size)
            weights.constant(f"{name}.{filter}.implicit_filter.{2 * n + 1}.freq", [1, filter_order], 10.0)
        weights.linear(f"{name}.{filter}.implicit_filter.{2 * len(sizes) - 2}", width, filter_order, bias=False)
        deltas = [
            math.log(0.01) / 1.5 + c * (math.log(0.01) / 0.3 - math.log(0.01) / 1.5) / max(1, width - 1)
            for c in range(width)
        ]
        weights.tensors[f"{name}.{filter}.modulation.deltas"] = ([1, 1, width], array.array("f", deltas))
    for network, out in (("nn_model", width), ("nn_model2", 2 * width if transform.startswith("fft") else width)):
        weights.normal(f"{name}.conv_kernel_nn.{network}.conv1d_ls.0.weight", [out, 1, 3], 0.6)
        weights.normal(f"{name}.conv_kernel_nn.{network}.conv1d_ls.0.bias", [out], 0.1)
        weights.positive(f"{name}.conv_kernel_nn.{network}.norm_ls.0.norm_conv_kernel.weight", [out])
        weights.normal(f"{name}.conv_kernel_nn.{network}.norm_ls.0.norm_conv_kernel.bias", [out], 0.1)
    return layer


def orchid(width=16, l_max=128, depth=1, **options):
    weights = Weights()
    return model(
        "orchid", width, [orchid_layer(weights, f"layers.{n}", width, l_max, **options) for n in range(depth)]
    ), weights.tensors
