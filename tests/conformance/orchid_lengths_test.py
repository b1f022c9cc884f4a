#!/usr/bin/env python3
"""Orchid layers at lengths beyond those of the reference tensors and at widths of 1 and 2, against float64 NumPy: its transforms by FFTs, the layer written
from its definition (Karami and Ghodsi 2024; models.md §3.1). An artifact of long cosine transforms must stay small: no matrix of L × L lies in it.

    orchid_lengths_test.py LONGWAVE FOLDER [--gpu]

With --gpu on the Vulkan device: convolutions around sequences whose transforms its shared memory holds, and does not.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import families
import sc10_package

try:
    import numpy as np
except ImportError:
    print("SKIPPED: needs numpy")
    sys.exit(77)

LIMIT = 1e-5  # of Orchid's layers against the reference tensors
# (channels, length, transform)
CASES = [
    (4, 4096, "dct"),
    (2, 8192, "dct"),
    (4, 8192, "fft"),
    (2, 4096, "fft-o"),
    (1, 500, "dct"),
    (2, 500, "dct"),
    (2, 499, "fft"),
    (1, 128, "dctxd-o"),
    (2, 129, "dctxd-o"),
]
GPU_CASES = [(2, 1024, "fft"), (4, 4096, "fft"), (2, 4096, "fft-o")]


def dct(x, orthonormal):
    """DCT-II of columns, 2 Σ x_t cos(πk(2t+1)/2L), as the FFT of x followed by its mirror image."""
    length = len(x)
    y = np.fft.fft(np.concatenate([x, x[::-1]]), axis=0)[:length]
    y = (y * np.exp(-1j * np.pi * np.arange(length) / (2 * length))[:, None]).real
    return y * scales(length)[:, None] if orthonormal else y


def inverse_dct(y, orthonormal):
    length = len(y)
    y = y / scales(length)[:, None] if orthonormal else y
    bins = np.zeros((2 * length, y.shape[1]), complex)
    bins[:length] = y * np.exp(1j * np.pi * np.arange(length) / (2 * length))[:, None]
    bins[length + 1 :] = np.conj(bins[1:length][::-1])
    return np.fft.ifft(bins, axis=0).real[:length]


def scales(length):
    return np.where(np.arange(length) == 0, 1 / (2 * np.sqrt(length)), 1 / np.sqrt(2 * length))


def norm(transform):
    return {"fft": "forward", "fft-o": "ortho"}[transform]


def forward(x, transform, size=None):
    return (
        np.fft.rfft(x, size, axis=0, norm=norm(transform))
        if transform.startswith("fft")
        else dct(x, transform == "dctxd-o")
    )


def inverse(y, transform, size):
    return (
        np.fft.irfft(y, size, axis=0, norm=norm(transform))
        if transform.startswith("fft")
        else inverse_dct(y, transform == "dctxd-o")
    )


class Orchid:
    def __init__(self, weights, transform):
        self.weights = {key: np.array(values, np.float64).reshape(shape) for key, (shape, values) in weights.items()}
        self.transform = transform

    def __getitem__(self, name):
        return self.weights["layers.0." + name]

    def conditioning(self, name, x, repeat=1):
        """A centred convolution of 3 taps of each column, with `repeat` results of each, then LayerNorm."""
        at = f"conv_kernel_nn.{name}."
        w, padded = self[at + "conv1d_ls.0.weight"][:, 0], np.pad(np.repeat(x, repeat, axis=1), ((1, 1), (0, 0)))
        y = sum(padded[j : j + len(x)] * w[:, j] for j in range(3)) + self[at + "conv1d_ls.0.bias"]
        y = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-5)
        return y * self[at + "norm_ls.0.norm_conv_kernel.weight"] + self[at + "norm_ls.0.norm_conv_kernel.bias"]

    def adaptive(self, x):
        """Eq. 2: the kernel that the sequence makes, as a transform."""
        h = self.conditioning("nn_model", x)
        if not self.transform.startswith("fft"):
            return self.conditioning("nn_model2", abs(forward(h, self.transform)))
        length = len(x)
        h = self.conditioning("nn_model2", abs(forward(h, self.transform, 2 * length)) ** 2, repeat=2)
        return forward(inverse(h[:, 0::2] + 1j * h[:, 1::2], self.transform, 2 * length)[:length], self.transform)

    def convolved(self, x, filter, adaptive=0):
        k, number = self[f"{filter}.pos_emb.z"][0], 0
        while f"layers.0.{filter}.implicit_filter.{number + 1}.freq" in self.weights:
            at = f"{filter}.implicit_filter.{number}"
            k = np.sin(
                self[f"{filter}.implicit_filter.{number + 1}.freq"] * (k @ self[at + ".weight"].T + self[at + ".bias"])
            )
            number += 2
        k = (
            k
            @ self[f"{filter}.implicit_filter.{number}.weight"].T
            * np.exp(-self[f"{filter}.pos_emb.t"][0] * abs(self[f"{filter}.modulation.deltas"][0]))
        )
        return (
            inverse(forward(x, self.transform) * (forward(k, self.transform) + adaptive), self.transform, len(x))
            + self[f"{filter}.bias"] * x
        )

    def __call__(self, x):
        width = x.shape[1]
        p = x @ self["in_linear.weight"].T + self["in_linear.bias"]
        padded, w = np.pad(p, ((2, 0), (0, 0))), self["conv1d_short.weight"][:, 0]
        s = sum(padded[j : j + len(x)] * w[:, j] for j in range(3)) + self["conv1d_short.bias"]
        s0, s1, s2 = (s[:, i * width : (i + 1) * width] for i in range(3))
        y = s0 * self.convolved(s1 * s2, "fixed_conv", self.adaptive(p[:, 2 * width :])) + self.convolved(
            x, "fixed_conv_res"
        )
        return y @ self["out_linear.weight"].T + self["out_linear.bias"]


def check(longwave, folder, width, length, transform, gpu=None):
    description, weights = families.orchid(width=width, l_max=length, transform=transform)
    package, artifact = folder / "package", folder / "orchid.lw"
    sc10_package.write(package, description, weights)
    done = subprocess.run(
        [
            longwave,
            "compile",
            package,
            "-o",
            artifact,
            "--target",
            f"host,{gpu}" if gpu else "host",
            "--quiet",
            "--json",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    x = np.random.default_rng(length).standard_normal((length, width)).astype(np.float32)
    np.save(folder / "x.npy", x)
    subprocess.run(
        [
            longwave,
            "run",
            artifact,
            "--input",
            f"x=@{folder / 'x.npy'}",
            "-o",
            f"y={folder / 'y.npy'}",
            "--device",
            "vulkan" if gpu else "cpu",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    found, expected = np.load(folder / "y.npy").astype(np.float64), Orchid(weights, transform)(x.astype(np.float64))
    assert found.shape == expected.shape, found.shape
    error, size = abs(found - expected).max() / abs(expected).max(), artifact.stat().st_size
    print(
        f"{transform:8} {length:5} rows of {width}: within {error:.1e}; {size // 1000} kB, {json.loads(done.stdout)['kernels']} kernels",
        flush=True,
    )
    assert error <= LIMIT, error
    if transform == "dct":
        assert size < 8 * length * 4 * (width + 16) + 500_000, size


def main():
    longwave, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    gpu = None
    if "--gpu" in sys.argv[3:]:
        devices = subprocess.run([longwave, "devices", "--json"], capture_output=True, text=True, check=True).stdout
        gpu = json.loads(devices.splitlines()[1])["targets"][-1]
    with tempfile.TemporaryDirectory(dir=folder) as name:
        for width, length, transform in GPU_CASES if gpu else CASES:
            check(longwave, pathlib.Path(name), width, length, transform, gpu)
    return 0


if __name__ == "__main__":
    sys.exit(main())
