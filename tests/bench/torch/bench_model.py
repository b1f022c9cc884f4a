#!/usr/bin/env python3
"""Models beside PyTorch: kws12, the keyword model, a whole second and a block of 20 ms; sc10, SGConv at the size published for SC10, a whole second; stack256,
512, 1024 and 2048, four SGConv layers of that width with gated linear units, a sequence of 1,024.

    longwave bench model [MODEL…] --against pytorch [--threads N] [--weights bf16] [--json]
    longwave bench model kws12 --against onnxruntime|openvino [--json]      (onnx_peers.py; needs onnx, onnxscript and the engine)

PyTorch is made as fast as eager mode goes: inference mode, spectra of the long kernels computed once, real transforms of a length that factors well, and
the number of threads with which it is fastest. Times are medians in turns; p99 is of all calls. PyTorch has no streaming form of the model: for a block
it computes a sequence of that length without any past, which is less work than a block of a stream. `difference` is that of the outputs, of the peak.
The exit code is 1 if it is above the limit in side_by_side.py.
"""

import pathlib
import statistics
import tempfile

from side_by_side import (
    ROOT,
    Longwave,
    arguments,
    best_threads,
    cache_spectra,
    difference,
    differs,
    environment,
    p99,
    tell,
    times_ms,
)

# isort: split
import numpy as np
import onnx_peers
import sc10_package
import torch
from longwave import package
from longwave.kws.labels import CLASSES
from longwave.kws.losses import READ
from longwave.kws.model import BN_EPS, KwsConfig, KwsNet
from longwave.layers.backbone import SgconvBackbone
from needs import finish, needs
from safetensors.torch import load_file

RATE, BLOCK, STACK_TICKS = 16000, 320, 1024


class Sc10(torch.nn.Module):
    """The graph of sc10_package.py."""

    def __init__(self, weights):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(1, 128))
        self.model = SgconvBackbone(128, 6, kernel_dim=32, l_max=RATE, mode="cat_randn", postact=None)
        self.decoder = torch.nn.Linear(128, 10)
        for key in ("weight", "bias"):
            weights[f"decoder.{key}"] = weights.pop(f"decoder.0.output_transform.{key}")
        self.load_state_dict(weights, strict=False)

    def forward(self, samples):
        return self.decoder(self.model(self.encoder(samples[..., None])).mean(1))


def keyword_net():
    net = KwsNet(KwsConfig()).eval()
    net.load_state_dict(load_file(ROOT / "examples/kws/model/weights.safetensors"), strict=False)
    return net


def shifted(logits, layer):
    """The batch norm of the model folder that adds a shift to each class (longwave/kws/export.py)."""
    weights = load_file(ROOT / "examples/kws/model/weights.safetensors")
    mean, variance, weight, bias = (
        weights[f"{layer}.{key}"] for key in ("running_mean", "running_var", "weight", "bias")
    )
    return torch.nn.functional.batch_norm(logits, mean, variance, weight, bias, eps=BN_EPS)


def kws12(scratch, frames):
    """(package folder, forward, name of an output, forward -> its last row); `frames`: rows that the long kernels see."""
    net = keyword_net()
    cache_spectra(net, frames)
    return (
        ROOT / "examples/kws/model",
        net.from_samples,
        "logits",
        lambda y: shifted(y[0, -READ:, : len(CLASSES)], "in_clips").mean(0),
    )


def sc10(scratch, frames):
    folder = scratch / "sc10"
    sc10_package.write(folder, *sc10_package.package(6, 128, RATE))
    net = Sc10(load_file(folder / "weights.safetensors")).eval()
    cache_spectra(net, RATE)
    return folder, net, "logits", lambda y: y[0]


class Stack(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.model = SgconvBackbone(width, 4, kernel_dim=32, l_max=STACK_TICKS, mode="cat_randn", postact="glu")

    def forward(self, rows):
        return self.model(rows).mean(1)


def stack(width):
    def made(scratch, frames):
        torch.manual_seed(width)
        net, folder = Stack(width).eval(), scratch / f"stack{width}"
        layers = [
            package.residual(
                f"model.layers.{n}",
                package.layer("batch_norm", "norm", f"model.layers.{n}.norm.norm"),
                [
                    package.layer(
                        "sgconv",
                        f"model.layers.{n}.layer",
                        kernel_dim=32,
                        l_max=STACK_TICKS,
                        mode="cat_randn",
                        postact="glu",
                    )
                ],
            )
            for n in range(4)
        ]
        layers += [package.layer("batch_norm", "norm", "model.norm.norm"), package.layer("mean", "mean")]
        for layer in net.modules():
            if hasattr(layer, "freeze_norm"):
                layer.freeze_norm()
        package.write(
            package.Package(
                folder.name,
                [{"name": "rows", "kind": "features", "width": width}],
                layers,
                [{"name": "y", "from": "mean"}],
                weights=net.state_dict(),
            ),
            folder,
        )
        cache_spectra(net, STACK_TICKS)
        return folder, net, "y", lambda y: y[0]

    return made


WIDTHS = {f"stack{width}": width for width in (256, 512, 1024, 2048)}
MODELS = {"kws12": kws12, "sc10": sc10, **{name: stack(width) for name, width in WIDTHS.items()}}


def input_of(name, ticks):
    """(name of the input, numbers): audio (1, ticks), rows (1, ticks, width)."""
    generator = torch.Generator().manual_seed(1)
    if name in WIDTHS:
        return "rows", torch.randn(1, ticks, WIDTHS[name], generator=generator)
    return "audio", torch.randn(1, ticks, generator=generator) * 0.1


def whole(name, longwave, options, scratch):
    ticks = STACK_TICKS if name in WIDTHS else RATE
    package_folder, forward, output, last_row = MODELS[name](scratch, RATE // 320)
    artifact, (input_name, samples) = scratch / f"{name}.lw", input_of(name, ticks)
    weights = ["--weights", options.weights] if options.weights else []
    longwave(
        "compile",
        package_folder,
        "-o",
        artifact,
        "--target",
        "host",
        "--length",
        ticks,
        "--no-stream",
        "--quiet",
        *weights,
    )
    np.save(scratch / "samples.npy", samples[0].numpy())
    wanted = last_row(forward(samples)).numpy()
    found = longwave.output(output, artifact, scratch / "samples.npy", input_name).reshape(-1)[-wanted.size :]
    threads = best_threads(lambda: forward(samples), options.threads if name in WIDTHS else None)
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(longwave.run_ms(artifact, options.threads, 50 if ticks == RATE else 10))
        theirs.append(times_ms(lambda: forward(samples)))
    return {
        "what": "model",
        "model": name,
        "piece": "whole second" if ticks == RATE else f"sequence of {ticks}",
        "threads": options.threads,
        "weights": options.weights or "float32",
        "ours_ms": statistics.median(ours),
        "peer": "torch",
        "peer_threads": threads,
        "peer_ms": statistics.median(map(statistics.median, theirs)),
        "peer_p99_ms": p99(sum(theirs, [])),
        "ratio": statistics.median(o / statistics.median(t) for o, t in zip(ours, theirs)),
        "difference": difference(wanted, found),
    }


def one_block(name, longwave, options, scratch):
    package, forward, *_ = MODELS[name](scratch, 1)
    artifact, (_, samples) = scratch / f"{name}-stream.lw", input_of(name, BLOCK)
    longwave(
        "compile", package, "-o", artifact, "--target", "host", "--stream", "--blocks", BLOCK, "--no-whole", "--quiet"
    )
    np.save(scratch / "block.npy", samples[0].numpy())
    wanted = (
        torch.softmax(shifted(forward(samples)[0], "in_streams"), -1).numpy().reshape(-1)
    )  # the first block of a stream has no past
    found = longwave.output("probabilities", artifact, scratch / "block.npy", "audio", "--stream")
    threads = best_threads(lambda: forward(samples))
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(longwave.bench(artifact)["stream"]["block_us"])
        theirs.append(times_ms(lambda: forward(samples)))
    return {
        "what": "model",
        "model": name,
        "piece": "block of 20 ms",
        "threads": 1,
        "ours_ms": statistics.median(o["median"] for o in ours) / 1e3,
        "ours_p99_ms": statistics.median(o["p99"] for o in ours) / 1e3,
        "peer": "torch, no past",
        "peer_threads": threads,
        "peer_ms": statistics.median(map(statistics.median, theirs)),
        "peer_p99_ms": p99(sum(theirs, [])),
        "ratio": statistics.median(o["median"] / 1e3 / statistics.median(t) for o, t in zip(ours, theirs)),
        "difference": difference(wanted, found),
    }


def behind_features(engine, longwave, options, scratch):
    """The whole second of kws12 beside an engine that gets the features."""
    artifact, (_, samples) = scratch / "kws12-second.lw", input_of("kws12", RATE)
    longwave(
        "compile",
        ROOT / "examples/kws/model",
        "-o",
        artifact,
        "--target",
        "host",
        "--length",
        RATE,
        "--no-stream",
        "--quiet",
    )
    net = keyword_net()
    features = net.front_end(samples)
    wanted = net(features).numpy()
    peer, call, logits = onnx_peers.contestant(engine, net, features, scratch)
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(longwave.run_ms(artifact, 1, 200))
        theirs.append(times_ms(call))
    return {
        "what": "model",
        "model": "kws12",
        "piece": "whole second; the peer without the front end",
        "threads": 1,
        "weights": "float32",
        "ours_ms": statistics.median(ours),
        "peer": peer,
        "peer_threads": 1,
        "peer_ms": statistics.median(map(statistics.median, theirs)),
        "peer_p99_ms": p99(sum(theirs, [])),
        "ratio": statistics.median(o / statistics.median(t) for o, t in zip(ours, theirs)),
        "peer_difference": difference(wanted, logits),
    }


def main():
    parser = arguments(__doc__, "model", peers=["pytorch", *onnx_peers.SESSIONS])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"{', '.join(MODELS)} (default: kws12)")
    parser.add_argument(
        "--threads", type=int, default=1, help="of our whole runs, and at most of PyTorch's of a stack (default: 1)"
    )
    parser.add_argument(
        "--weights", choices=["bf16", "int8"], help="storage of our products' weights (default: float32)"
    )
    options = parser.parse_args()
    for name in options.models:
        if name not in MODELS:
            parser.error(f"MODEL: expected {' or '.join(MODELS)}, found {name}")
    longwave, wrong = Longwave(options.longwave), []
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        scratch = pathlib.Path(folder)
        tell(environment(longwave) | ({} if options.against == "pytorch" else {"peer": options.against}), options.json)
        if options.against != "pytorch":
            if options.models not in ([], ["kws12"]) or options.threads > 1 or options.weights:
                parser.error(f"--against {options.against}: for kws12 alone, float32, one thread")
            needs("longwave bench model", "onnx", "onnxscript", options.against)
            line = behind_features(options.against, longwave, options, scratch)
            tell(line, options.json)
            return differs(line, "peer_difference")
        for name in options.models or ["kws12"]:
            pieces = [whole, one_block] if name == "kws12" else [whole]
            for piece in pieces:
                line = piece(name, longwave, options, scratch)
                tell(line, options.json)
                wrong += differs(line)
    return wrong


if __name__ == "__main__":
    finish("bench model", main)
