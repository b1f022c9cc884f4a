#!/usr/bin/env python3
"""Models of softmax attention and long convolutions against PyTorch in float64: hybrids with relative, rotary and no positions, causal
ones as whole runs and as streams of each block, two-sided ones as whole runs, also of fewer rows than they were compiled for.

    hybrid_parity.py --longwave build/longwave --python tools/python [--limit 1e-5]

Prints a line a model; exit 1 when an error, relative to the largest logit, is over the limit.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROWS, BLOCKS = 300, (1, 8, 50)


class Engine:
    def __init__(self, longwave, folder):
        self.longwave, self.folder = longwave, folder

    def compile(self, *flags):
        subprocess.run(
            [
                self.longwave,
                "compile",
                self.folder / "model",
                "-o",
                self.folder / "model.lw",
                "--length",
                str(ROWS),
                "--target",
                "host",
                *flags,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def error(self, ids, logits, limit, *flags):
        """Relative to the largest logit."""
        import numpy as np
        import torch

        np.save(self.folder / "ids.npy", ids.numpy().astype("<i4"))
        np.save(self.folder / "logits.npy", logits.numpy().astype("<f4"))
        done = subprocess.run(
            [
                self.longwave,
                "run",
                self.folder / "model.lw",
                "-i",
                f"ids=@{self.folder}/ids.npy",
                "--expected",
                f"logits=@{self.folder}/logits.npy",
                "--limit",
                str(limit),
                "-o",
                f"logits={self.folder}/found.npy",
                *flags,
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found = torch.from_numpy(np.load(self.folder / "found.npy")).double()
        return float((found.reshape(logits.shape) - logits).abs().max() / logits.abs().max())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longwave", required=True)
    parser.add_argument("--python", type=pathlib.Path, required=True)
    parser.add_argument("--limit", type=float, default=1e-5)
    options = parser.parse_args()

    sys.path.insert(0, str(options.python))
    import torch
    from longwave.layers.attention import (
        BERT_12,
        WIKITEXT_16,
        WIKITEXT_18,
        AttentionConfig,
        HybridConfig,
        HybridModel,
        hybrid_package,
    )
    from longwave.package import write

    small = {"vocabulary": 50, "hidden": 96, "kernel_dim": 8, "length": ROWS}
    models = {
        "16 layers, relative": HybridConfig(
            AttentionConfig(48, 4, 16, window=65, relative=True, bias=False), WIKITEXT_16, **small
        ),
        "18 layers, relative": HybridConfig(
            AttentionConfig(48, 3, window=33, relative=True, bias=False), WIKITEXT_18, **small
        ),
        "rotary halves": HybridConfig(AttentionConfig(40, 2, window=20, rotary=True), "AAC", **small),
        "rotary neighbours": HybridConfig(
            AttentionConfig(40, 2, window=300, rotary=True, interleaved=True), "AC", **small
        ),
        "causal without a window": HybridConfig(AttentionConfig(24, 2), "AA", **small),
        "12 layers, two-sided": HybridConfig(AttentionConfig(48, 4, causal=False), BERT_12, **small, activation="gelu"),
    }
    for name, config in models.items():
        torch.manual_seed(1)
        model = HybridModel(config).eval()
        ids = torch.randint(0, config.vocabulary, (ROWS,))
        streams = config.attention.causal and config.attention.window is not None
        with tempfile.TemporaryDirectory() as path, torch.no_grad():
            folder = pathlib.Path(path)
            write(hybrid_package(model, "hybrid"), folder / "model")
            model, engine = model.double(), Engine(options.longwave, folder)
            engine.compile(*(["--stream", "--blocks", ",".join(map(str, BLOCKS))] if streams else ["--no-stream"]))
            errors = {"whole": engine.error(ids, model(ids[None])[0], options.limit)}
            errors["of 200 rows"] = engine.error(ids[:200], model(ids[None, :200])[0], options.limit)
            if streams:
                errors["stream"] = engine.error(ids, model(ids[None])[0], options.limit, "--stream")
        print(f"{name}: " + ", ".join(f"{what} within {error:.1e}" for what, error in errors.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
