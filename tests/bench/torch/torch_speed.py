#!/usr/bin/env python3
"""Whole sequences of one second, engine against PyTorch, one thread each: the keyword model, and SGConv at the size published for SC10.

    torch_speed.py --longwave build/longwave [--rounds 5]

PyTorch is made as fast as eager mode goes: inference mode, spectra of the long kernels computed once, real transforms of a length that factors well.
Rounds alternate, so that a slow spell of the machine meets both; times are medians. Each line also says how far the outputs are apart, relative to the peak.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "tests/conformance")]

import sc10_package  # noqa: E402
from longwave.kws.labels import CLASSES  # noqa: E402
from longwave.kws.losses import READ  # noqa: E402
from longwave.kws.model import KwsConfig, KwsNet  # noqa: E402
from longwave.layers.backbone import SgconvBackbone  # noqa: E402
from longwave.layers.sgconv import GConv  # noqa: E402

RATE = 16000


def cache_spectra(net: torch.nn.Module, length: int) -> None:
    """Replaces the convolution of every causal GConv by one with a fixed spectrum, for sequences of `length`."""
    for layer in net.modules():
        if not isinstance(layer, GConv):
            continue
        n = 2 * length
        spectrum = torch.fft.rfft(layer.kernel(length), n=n)
        layer.convolve = lambda u, s=spectrum, d=layer.D, n=n: (
            torch.fft.irfft(torch.fft.rfft(u.unsqueeze(1), n=n) * s, n=n)[..., : u.shape[-1]] + d[:, :, None] * u.unsqueeze(1))


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


def keyword_model():
    """(package folder, forward, forward -> the engine's last row of its first output)"""
    net = KwsNet(KwsConfig()).eval()
    net.load_state_dict(load_file(ROOT / "examples/kws/model/weights.safetensors"), strict=False)
    return ROOT / "examples/kws/model", net.from_samples, lambda y: y.reshape(-1, y.shape[-1])[-READ:, : len(CLASSES)].mean(0)


def sc10(folder):
    sc10_package.write(folder, *sc10_package.package(6, 128, RATE))
    net = Sc10(load_file(folder / "weights.safetensors")).eval()
    cache_spectra(net, RATE)
    return folder, net, lambda y: y[0]


def median_ms(call):
    times = []
    for _ in range(12):
        begin = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[2:])


def measure(name, package, forward, last_row, options, scratch):
    def longwave(*arguments):
        return subprocess.run([options.longwave, *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout

    artifact, samples = scratch / f"{name}.lw", torch.randn(1, RATE, generator=torch.Generator().manual_seed(1)) * 0.1
    longwave("compile", package, "-o", artifact, "--target", "host", "--length", RATE, "--no-stream")
    np.save(scratch / "samples.npy", samples[0].numpy())
    wanted = last_row(forward(samples)).numpy()
    first, *_ = json.loads(longwave("run", artifact, "--memory", "2G", "--input", f"audio=@{scratch}/samples.npy", "--json")).values()
    found = np.array(first["data"]).reshape(-1)[-wanted.size:]
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(json.loads(longwave("bench", artifact, "--memory", "2G", "--repeats", 20, "--json"))["run"]["median_ms"])
        theirs.append(median_ms(lambda: forward(samples)))
    return {"what": name, "length": RATE, "threads": 1, "ours_ms": statistics.median(ours), "peer": f"torch {torch.__version__}", "peer_ms": statistics.median(theirs),
            "ratio": statistics.median(o / t for o, t in zip(ours, theirs)), "difference": float(np.abs(wanted - found).max() / np.abs(wanted).max())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longwave", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name, torch.inference_mode():
        scratch = pathlib.Path(name)
        for name, model in (("kws12", keyword_model()), ("sc10", sc10(scratch / "sc10"))):
            print(json.dumps(measure(name, *model, options, scratch)), flush=True)


if __name__ == "__main__":
    main()
