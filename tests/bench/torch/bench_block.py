#!/usr/bin/env python3
"""One SGConv block of 128 channels with a gated linear unit (Table 2 of the SGConv paper), a batch of 64 sequences, beside PyTorch.

    longwave bench block --against pytorch [--lengths 256,1024,4096,16384] [--batch 64] [--threads N] [--json]

Spectra of the kernel are computed once on both sides. PyTorch is given so many sequences at a time as it is fastest with (--chunks) and all CPUs;
we run them one after the other, each with --threads threads (default: all CPUs). Times are of a batch: medians in turns. `paper_ms` is the CPU row
of the paper, of an unnamed processor, whose blocks make their kernel anew. `difference` is that of the outputs, of the peak.
The exit code is 1 if it is above the limit in side_by_side.py.
"""

import pathlib
import statistics
import tempfile

from side_by_side import (
    GConv,
    Longwave,
    arguments,
    cache_spectra,
    difference,
    differs,
    environment,
    p99,
    processors,
    tell,
    times_ms,
)

# isort: split
import numpy as np
import torch
from longwave import package
from needs import finish

WIDTH, KERNEL_DIM = 128, 32
PAPER_MS = {256: 23.8, 512: 56.2, 1024: 108.7, 2048: 211.3, 4096: 409.3, 8192: 789.5, 16384: 1559.3}


def write_package(net, length, folder):
    package.write(
        package.Package(
            name="block",
            inputs=[{"name": "x", "kind": "features", "width": WIDTH}],
            layers=[
                package.layer("sgconv", "block", kernel_dim=KERNEL_DIM, l_max=length, mode="cat_randn", postact="glu")
            ],
            outputs=[{"name": "y", "from": "block"}],
            weights={f"block.{key}": value for key, value in net.state_dict().items()},
        ),
        folder,
    )


def in_chunks(net, x, chunk):
    return lambda: [net(part) for part in x.split(chunk)]


def numbers(text):
    return [int(part) for part in text.split(",")]


def measure(length, longwave, options, scratch):
    torch.manual_seed(length)
    net = GConv(WIDTH, l_max=length, kernel_dim=KERNEL_DIM, postact="glu", transposed=False).eval()
    net.freeze_norm()
    folder, artifact, x = (
        scratch / f"block-{length}",
        scratch / f"block-{length}.lw",
        torch.randn(options.batch, length, WIDTH),
    )
    write_package(net, length, folder)
    longwave("compile", folder, "-o", artifact, "--target", "host", "--length", length, "--no-stream", "--quiet")
    cache_spectra(net, length)
    wanted = net(x[:1])
    wanted = (wanted[0] if isinstance(wanted, tuple) else wanted)[0].numpy()
    np.save(scratch / "x.npy", x[0].numpy())
    found = longwave.output("y", artifact, scratch / "x.npy", "x").reshape(wanted.shape)
    torch.set_num_threads(processors())
    chunk = min(
        (c for c in options.chunks if c <= options.batch),
        key=lambda c: statistics.median(times_ms(in_chunks(net, x, c), least=2, seconds=0)),
    )
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(options.batch * longwave.run_ms(artifact, options.threads, options.batch))
        theirs.append(times_ms(in_chunks(net, x, chunk), least=3, seconds=0.3))
    return {
        "what": "block",
        "length": length,
        "batch": options.batch,
        "width": WIDTH,
        "threads": options.threads,
        "ours_ms": statistics.median(ours),
        "peer": "torch",
        "peer_threads": processors(),
        "peer_chunk": chunk,
        "peer_ms": statistics.median(map(statistics.median, theirs)),
        "peer_p99_ms": p99(sum(theirs, [])),
        "ratio": statistics.median(o / statistics.median(t) for o, t in zip(ours, theirs)),
        "paper_ms": PAPER_MS.get(length) if options.batch == 64 else None,
        "difference": difference(wanted, found),
    }


def main():
    parser = arguments(__doc__, "block")
    parser.add_argument("--lengths", type=numbers, default=[256, 1024, 4096, 16384])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument(
        "--chunks", type=numbers, default=[1, 2, 4, 8, 64], help="sequences at a time that PyTorch is tried with"
    )
    parser.add_argument("--threads", type=int, default=processors(), help="of our runs (default: all CPUs)")
    options = parser.parse_args()
    longwave, wrong = Longwave(options.longwave), []
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        tell(environment(longwave), options.json)
        for length in options.lengths:
            line = measure(length, longwave, options, pathlib.Path(folder))
            tell(line, options.json)
            wrong += differs(line)
    return wrong


if __name__ == "__main__":
    finish("bench block", main)
