"""Bits per byte of a text folder's held-out part, streamed as a whole with carried state.

    python -m longwave.text.evaluate DATA MODEL [--part validation]

MODEL is a package or a run.  The parts of all files follow each other in one stream without a reset, in the order of
longwave/text/data.py; the first byte, which nothing predicts, costs 8 bits.  Prints one JSON object, with a figure
of each source: the files of the folder itself, and its subfolders as one.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from ..layers.blockconv import BLOCK
from . import data, export, model as text_model

WINDOW = 1024


@torch.no_grad()
def costs(model: text_model.TextModel, text: bytes) -> np.ndarray:
    """Bits that each byte of `text` costs after all bytes before it, from a fresh state."""
    ids = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    run, state = text_model.windowed(model), text_model.fresh_state(model, 1)
    found = [torch.tensor([8.0])]
    for at in range(0, len(ids) - 1, WINDOW):
        inputs, targets = ids[at : min(at + WINDOW, len(ids) - 1)], ids[at + 1 : at + WINDOW + 1]
        padded = F.pad(inputs, (0, -len(inputs) % BLOCK))  # only the last window: its state is not used
        logits, state = run(padded[None], state)
        found.append(F.cross_entropy(logits[0, : len(targets)].double(), targets, reduction="none") / math.log(2))
    return torch.cat([part.double() for part in found]).numpy()


def by_source(folder: Path, part: str, bits: np.ndarray) -> dict[str, float]:
    """Mean of `bits` over the bytes of each source."""
    found: dict[str, list[np.ndarray]] = {}
    at = 0
    for path in data.files(folder):
        count = len(data.cut(path.read_bytes(), part))
        found.setdefault(path.relative_to(folder).parts[0], []).append(bits[at : at + count])
        at += count
    return {source: round(float(np.concatenate(pieces).mean()), 4) for source, pieces in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of text files")
    parser.add_argument("model", type=Path, help="package, or folder of a run of train_text")
    parser.add_argument("--part", choices=data.PARTS, default="held_out")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    is_package = (options.model / "model.json").exists()
    model = export.from_package(options.model) if is_package else export.from_run(options.model)
    text = data.read(options.data, options.part)
    bits = costs(model, text)
    print(
        json.dumps(
            {
                "part": options.part,
                "bytes": len(text),
                "bits_per_byte": round(float(bits.mean()), 4),
                "by_source": by_source(options.data, options.part, bits),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
