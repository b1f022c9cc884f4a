"""Trains Orchid on associative recall, one length after another, and writes a model package for each.

    python -m longwave.recall.train OUT [--lengths 128,256,...] [--steps N] [--minutes N] [--vocabulary 20] [--seed N]

Every batch is new; accuracy is that on 2,000 sequences of another seed. A length ends when it is right in `--enough` of them, after `--steps` steps, or when
`--minutes` of wall clock are over. OUT/LENGTH is the package (`longwave compile OUT/LENGTH -o recall.lw`), OUT/results.json has the figures of each length.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import time

import torch
import torch.nn.functional as F

from .. import package
from .data import batch, batches
from .model import RecallConfig, RecallModel, model_package


def accuracy(model: RecallModel, sequences: int = 2000, seed: int = 1_000_003) -> float:
    config, generator = model.config, torch.Generator().manual_seed(seed)
    model.eval()
    right = 0
    with torch.no_grad():
        for first in range(0, sequences, 100):
            ids, answers = batch(min(100, sequences - first), config.length, config.vocabulary, generator)
            right += int((model(ids).argmax(-1) == answers).sum())
    model.train()
    return right / sequences


def train(config: RecallConfig, steps: int, size: int, rate: float, seed: int, enough: float, until: float) -> tuple[RecallModel, dict]:
    """Stops at `until` of time.monotonic() as well."""
    torch.manual_seed(seed)
    model = RecallModel(config)
    # No decay of biases, norms and what the filters are made of, as published.
    decayed = [p for name, p in model.named_parameters() if p.dim() > 1 and "fixed_conv" not in name]
    others = [p for name, p in model.named_parameters() if not (p.dim() > 1 and "fixed_conv" not in name)]
    optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=rate, betas=(0.9, 0.98))
    warm = min(200, steps // 10 + 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, (step + 1) / warm))
    start, step, found = time.monotonic(), 0, 0.0
    for step, (ids, answers) in enumerate(batches(size, config.length, config.vocabulary, seed), 1):
        loss = F.cross_entropy(model(ids), answers)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        ended = step >= steps or time.monotonic() >= until
        if step % 100 == 0 or ended:
            found = accuracy(model, 2000 if ended else 500)
            print(f"length {config.length}, step {step}: loss {loss.item():.3f}, right {100 * found:.1f} %", flush=True)
            if not ended and found >= enough:
                found, ended = accuracy(model), True
        if ended:
            break
    return model, {**config.as_json(), "seed": seed, "steps": step, "sequences": step * size, "accuracy": found, "minutes": (time.monotonic() - start) / 60}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--lengths", default="128,256,512,1024", help="in this order (default %(default)s)")
    parser.add_argument("--vocabulary", type=int, default=20, help="keys and values (default %(default)s)")
    parser.add_argument("--steps", type=int, default=20000, help="at most, for each length (default %(default)s)")
    parser.add_argument("--batch", type=int, default=32, help="sequences a step (default %(default)s)")
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate (default %(default)s)")
    parser.add_argument("--minutes", type=float, default=60, help="of all lengths together (default %(default)s)")
    parser.add_argument("--enough", type=float, default=0.999, help="accuracy that ends a length (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    until, results = time.monotonic() + 60 * options.minutes, []
    for length in map(int, options.lengths.split(",")):
        if time.monotonic() >= until:
            break
        config = RecallConfig(length=length, vocabulary=options.vocabulary)
        model, result = train(config, options.steps, options.batch, options.rate, options.seed, options.enough, until)
        package.write(model_package(model.eval(), f"recall{length}"), options.out / str(length))
        results.append(result)
        (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
