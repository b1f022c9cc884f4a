"""Trains Orchid on associative recall, one length after another, and writes a model package for each.

    tests/bench/recall/run train OUT [--lengths 128,256,...] [--steps N] [--minutes N] [--vocabulary 20] [--seed N]

Every batch is new; accuracy is that on 2,000 sequences of another seed. A length ends when it is right in `--enough` of 500 of them, after `--steps` steps, or when
`--minutes` of wall clock are over. OUT/LENGTH is the package (`longwave compile OUT/LENGTH -o recall.lw`), OUT/results.json has the figures of each length. The same
command again goes on from OUT/checkpoint.pt, which is written every 100 steps; remove OUT to begin anew.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from typing import Any

import torch
import torch.nn.functional as F
from longwave import output_files, package

from .data import batch
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


class Training:
    """One length: what a checkpoint holds. Each step draws its sequences from (seed, step), so that going on is the same as never having stopped."""

    def __init__(self, config: RecallConfig, size: int, rate: float, warm: int, seed: int) -> None:
        torch.manual_seed(seed)
        self.size, self.seed, self.step, self.minutes = size, seed, 0, 0.0
        self.model = RecallModel(config)
        # No decay of biases, norms and what the filters are made of, as published.
        decayed = [p for name, p in self.model.named_parameters() if p.dim() > 1 and "fixed_conv" not in name]
        others = [p for name, p in self.model.named_parameters() if not (p.dim() > 1 and "fixed_conv" not in name)]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
            lr=rate,
            betas=(0.9, 0.98),
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimiser, lambda step: min(1.0, (step + 1) / warm))

    def advance(self) -> float:
        """One step; its loss."""
        config, generator = self.model.config, torch.Generator().manual_seed(self.seed * 1_000_000 + self.step)
        ids, answers = batch(self.size, config.length, config.vocabulary, generator)
        loss = F.cross_entropy(self.model(ids), answers)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.schedule.step()
        self.step += 1
        return loss.item()

    def parts(self) -> dict[str, Any]:
        return {"model": self.model, "optimiser": self.optimiser, "schedule": self.schedule}

    def save(self, path: pathlib.Path) -> None:
        everything = {
            "config": self.model.config.as_json(),
            "step": self.step,
            "minutes": self.minutes,
            **{name: value.state_dict() for name, value in self.parts().items()},
        }
        output_files.write_file(path, output_files.opened(lambda file: torch.save(everything, file)))

    def load(self, path: pathlib.Path) -> None:
        """Nothing, if the checkpoint is of another length or model."""
        saved = torch.load(path, weights_only=True)
        if saved["config"] != self.model.config.as_json():
            return
        self.step, self.minutes = saved["step"], saved["minutes"]
        for name, value in self.parts().items():
            value.load_state_dict(saved[name])


def train(config: RecallConfig, options: argparse.Namespace, minutes: float) -> tuple[RecallModel, dict[str, Any]]:
    """For at most so many minutes, those before the checkpoint included."""
    training = Training(config, options.batch, options.rate, min(200, options.steps // 10 + 1), options.seed)
    checkpoint = options.out / "checkpoint.pt"
    if checkpoint.exists():
        training.load(checkpoint)
    before, start, loss, found = training.minutes, time.monotonic(), float("nan"), 0.0
    while training.step < options.steps and training.minutes < minutes and found < options.enough:
        loss = training.advance()
        training.minutes = before + (time.monotonic() - start) / 60
        if training.step % 100 == 0:
            found = accuracy(training.model, 500)
            print(
                f"length {config.length}, step {training.step}: loss {loss:.3f}, right {100 * found:.1f} %", flush=True
            )
            training.save(checkpoint)
    found = accuracy(training.model)
    print(
        f"length {config.length}: right {100 * found:.1f} % of 2,000 after {training.step} steps, {training.minutes:.0f} minutes",
        flush=True,
    )
    return training.model, {
        **config.as_json(),
        "seed": options.seed,
        "steps": training.step,
        "sequences": training.step * options.batch,
        "accuracy": found,
        "minutes": training.minutes,
        "complete": training.step >= options.steps or found >= options.enough,
    }


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
    options.out.mkdir(parents=True, exist_ok=True)
    done = options.out / "results.json"
    results = [result for result in (json.loads(done.read_text()) if done.exists() else []) if result["complete"]]
    for length in map(int, options.lengths.split(",")):
        minutes = options.minutes - sum(result["minutes"] for result in results)
        if minutes <= 0:
            break
        if any(result["length"] == length for result in results):
            continue
        model, result = train(RecallConfig(length=length, vocabulary=options.vocabulary), options, minutes)
        package.write(model_package(model.eval(), f"recall{length}"), options.out / str(length))
        results.append(result)
        output_files.write_text(done, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
