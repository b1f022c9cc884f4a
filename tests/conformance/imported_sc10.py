#!/usr/bin/env python3
"""A stack of GConv at the size of SC10, imported by its operations and as recognised layers: CPU time, memory, bytes.

    imported_sc10.py [--gconv gconv_standalone.py] [--width 128 --depth 6 --taps 16384]

`--gconv` names the authors' file; without it the class of longwave.layers counts. Each import runs in a process of its
own, with the importer's comparison in float64 at three lengths. Both folders are compiled for offline runs. Prints one
JSON object; exit 1 above 2 GB, or where the file of the operations has over 1.2 times the bytes. Times are not judged.
"""

import argparse
import importlib.util
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY, BYTES = 2e9, 1.2


def stack(options):
    import torch
    from torch import nn

    if options.gconv:
        spec = importlib.util.spec_from_file_location("gconv", options.gconv)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        gconv = module.GConv
    else:
        from longwave.layers.sgconv import GConv as gconv

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Linear(1, options.width), nn.Linear(options.width, 10)
            self.norms = nn.ModuleList(nn.LayerNorm(options.width) for _ in range(options.depth))
            self.layers = nn.ModuleList(
                gconv(options.width, kernel_dim=32, l_max=options.taps, transposed=False) for _ in range(options.depth)
            )

        def forward(self, x):
            x = self.encoder(x)
            for norm, layer in zip(self.norms, self.layers):
                y = layer(norm(x))
                x = x + (y[0] if isinstance(y, tuple) else y)
            return self.decoder(x.mean(1))

    torch.manual_seed(0)
    torch.set_num_threads(1)
    return Stack().eval()


def import_one(options, known):
    from longwave.importer.api import import_module

    begin = time.process_time()
    made = import_module(stack(options), ["x=1xTx1"], length=options.taps + 1, longest=options.taps + 1, known=known)
    made.write(options.folder)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "cpu_s": round(time.process_time() - begin, 1),
                "memory_mb": round(peak / 1e6),
                "differences": list(made.report["errors"].values()),
            }
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gconv", type=pathlib.Path)
    for name, default in (("width", 128), ("depth", 6), ("taps", 16384)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--longwave", type=pathlib.Path, default=ROOT / "build/longwave")
    parser.add_argument("--way", choices=["operations", "recognised"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools/python"))
    if options.way:
        return import_one(options, options.way == "recognised")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in ("operations", "recognised"):
            made = pathlib.Path(folder) / way
            child = [sys.executable, __file__, *sys.argv[1:], "--way", way, "--folder", made]
            found[way] = json.loads(
                subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
            )
            subprocess.run(
                [
                    options.longwave,
                    "compile",
                    made,
                    "-o",
                    f"{made}.lw",
                    "--target",
                    "host",
                    "--no-stream",
                    "--no-golden",
                    "--quiet",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            found[way]["file_mb"] = round(pathlib.Path(f"{made}.lw").stat().st_size / 1e6, 2)
    read, layers = found["operations"], found["recognised"]
    print(json.dumps(found))
    return int(read["memory_mb"] > MEMORY / 1e6 or read["file_mb"] > BYTES * layers["file_mb"])


if __name__ == "__main__":
    sys.exit(main())
