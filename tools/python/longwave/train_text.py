"""Trains a byte-level language model; see README.md.

    python -m longwave.train_text DATA --family chela --steps 6000 --out runs/chela

`--steps` fixes the schedule: highest rate up to 0.7 of them, then a straight line to zero.  A run that was stopped goes on from
its last checkpoint with the same command, or with other steps; each step draws its random numbers from (seed, step).  Windows of a stream carry their state to the next one, and gradients
end at a window's beginning.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import output_files
from .text import data, model as text_model
from .text.muon import Muon

WARM_UP = 100
EMA = 0.998
CLIP = 1.0
ROWS_OF_VALIDATION = 16
COOL_DOWN = 0.3


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of text files, see longwave/text/data.py")
    parser.add_argument("--family", choices=["chela", "lightnet"], required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of this run")
    parser.add_argument("--steps", type=int, required=True, help="length of the learning-rate schedule and of the run")
    parser.add_argument("--stop", type=int, help="end earlier than the schedule, for trials")
    parser.add_argument("--rows", type=int, default=8, help="streams in a batch")
    parser.add_argument("--length", type=int, default=256, help="bytes of a window, a multiple of 64")
    parser.add_argument(
        "--longest", type=float, default=8, help="a stream reads up to 2^this windows before it goes on elsewhere"
    )
    parser.add_argument("--kept", type=float, default=0.8, help="chance that it keeps its state then")
    parser.add_argument(
        "--rate", type=float, default=8e-3, help="highest learning rate of Muon; AdamW has --ratio times it"
    )
    parser.add_argument("--ratio", type=float, default=0.5)
    parser.add_argument("--decay", type=float, default=0.1, help="weight decay of matrices")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save-every", type=int, default=200, help="steps between checkpoints")
    parser.add_argument("--compile", action="store_true", help="through torch.compile, which needs a C++ compiler")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="NAME=N", help="other sizes, as in longwave/text/model.py"
    )
    return parser.parse_args()


def optimisers(net: nn.Module, rate: float, ratio: float, decay: float) -> list[torch.optim.Optimizer]:
    """Muon for matrices between hidden layers; AdamW for embedding, head, kernels (no decay), norms and biases."""
    hidden, tables, free = [], [], []
    for name, parameter in net.named_parameters():
        if "embed" in name or "classifier.0.0.weight" in name or "lm_head" in name:
            tables.append(parameter)
        elif parameter.dim() == 2 and "k0" not in name and "gamma" not in name and "beta" not in name:
            hidden.append(parameter)
        else:
            free.append(parameter)
    groups = [{"params": tables, "weight_decay": decay}, {"params": free, "weight_decay": 0.0}]
    return [Muon(hidden, lr=rate, weight_decay=decay), torch.optim.AdamW(groups, lr=rate * ratio, betas=(0.9, 0.98))]


def share_of_rate(step: int, steps: int) -> float:
    """A straight warm-up, the highest rate, and over the last COOL_DOWN of the run a straight line to zero: a run can be made
    longer or shorter at any step before that."""
    return min(1.0, (step + 1) / WARM_UP, (steps - step) / (COOL_DOWN * steps))


@torch.no_grad()
def bits_per_byte(run: text_model.Windowed, net: text_model.TextModel, text: bytes, length: int, rows: int) -> float:
    """Of `rows` equal pieces of `text` streamed side by side, for the log; evaluate.py gives the figure of one stream."""
    ids = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    windows = (len(ids) - 1) // (rows * length)
    piece = windows * length
    starts = torch.arange(rows)[:, None] * piece
    state, total = text_model.fresh_state(net, rows), 0.0
    for n in range(windows):
        index = starts + torch.arange(n * length, (n + 1) * length + 1)
        logits, state = run(ids[index[:, :-1]], state)
        total += F.cross_entropy(logits.flatten(0, 1), ids[index[:, 1:]].flatten()).item()
    return total / windows / math.log(2)


def shown(options: argparse.Namespace) -> dict[str, Any]:
    """For the log and the files."""
    return {k: v if isinstance(v, (int, float, list)) else str(v) for k, v in vars(options).items()}


class Training:
    """Everything a checkpoint holds."""

    def __init__(self, options: argparse.Namespace) -> None:
        torch.manual_seed(options.seed)
        sizes = {name: int(number) for name, number in (item.split("=") for item in options.set)}
        self.net = text_model.make(options.family, **sizes)
        self.average = copy.deepcopy(self.net)
        self.optimisers = optimisers(self.net, options.rate, options.ratio, options.decay)
        self.streams = data.Streams(
            data.read(options.data, "train"), options.rows, options.length, options.seed, options.longest, options.kept
        )
        self.fresh = text_model.fresh_state(self.net, 1)
        self.state = text_model.fresh_state(self.net, options.rows)
        self.step, self.seconds, self.options = 0, 0.0, shown(options)

    def save(self, path: Path) -> None:
        everything = {
            "net": self.net.state_dict(),
            "average": self.average.state_dict(),
            "step": self.step,
            "optimisers": [o.state_dict() for o in self.optimisers],
            "state": self.state,
            "options": self.options,
            "streams": {k: torch.from_numpy(v) for k, v in self.streams.state().items()},
            "seconds": self.seconds,
        }
        output_files.write_file(path, output_files.opened(lambda file: torch.save(everything, file)))

    def load(self, path: Path) -> None:
        saved = torch.load(path)
        self.net.load_state_dict(saved["net"])
        self.average.load_state_dict(saved["average"])
        for optimiser, state in zip(self.optimisers, saved["optimisers"]):
            optimiser.load_state_dict(state)
        self.streams.load({k: v.numpy() for k, v in saved["streams"].items()})
        self.state, self.step, self.seconds = saved["state"], saved["step"], saved["seconds"]


def advance(training: Training, run: text_model.Windowed, options: argparse.Namespace) -> Tensor:
    """One step; returns its loss in nats."""
    inputs, targets, fresh = training.streams.window(training.step)
    state = text_model.restart(training.state, training.fresh, torch.from_numpy(fresh))
    logits, after = run(torch.from_numpy(inputs), state)
    loss = F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(targets).flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(training.net.parameters(), CLIP)
    share = share_of_rate(training.step, options.steps)
    for optimiser, rate in zip(training.optimisers, (options.rate, options.rate * options.ratio)):
        for group in optimiser.param_groups:
            group["lr"] = rate * share
        optimiser.step()
        optimiser.zero_grad()
    with torch.no_grad():
        keep = min(EMA, (training.step + 1) / (training.step + 11))
        torch._foreach_lerp_(list(training.average.parameters()), list(training.net.parameters()), 1 - keep)
    training.state = [part.detach() for part in after]
    training.step += 1
    return loss.detach()


def train(options: argparse.Namespace) -> None:
    """From the last checkpoint, or from the beginning, to `options.stop` or the end; final.pt has the averaged weights."""
    torch.set_num_threads(options.threads)
    training = Training(options)
    options.out.mkdir(parents=True, exist_ok=True)
    checkpoint = options.out / "checkpoint.pt"
    if checkpoint.exists():
        training.load(checkpoint)
    output_files.write_text(options.out / "options.json", json.dumps(training.options, indent=1))
    parameters = sum(p.numel() for p in training.net.parameters())
    print(json.dumps(training.options), "parameters", parameters, "from step", training.step, flush=True)
    validation = data.read(options.data, "validation")
    if len(validation) <= ROWS_OF_VALIDATION * options.length:
        raise SystemExit(
            f"{options.data}: {len(validation)} bytes of validation text, more than {ROWS_OF_VALIDATION} windows of "
            f"{options.length} are needed; give more text or a smaller --length"
        )
    run = text_model.windowed(training.net, options.compile)
    running, begin, first = 0.0, time.time(), training.step
    stop = options.stop or options.steps
    while training.step < stop:
        at = time.process_time()
        loss = advance(training, run, options).item() / math.log(2)
        training.seconds += time.process_time() - at
        if not math.isfinite(loss):
            raise SystemExit(
                f"step {training.step}: the loss is {loss}; start again from the checkpoint with a lower --rate"
            )
        running = loss if training.step == first + 1 else 0.98 * running + 0.02 * loss
        if training.step % 50 == 0:
            print(
                f"step {training.step} loss {running:.3f} {training.seconds / training.step:.3f} s/step, {time.time() - begin:.0f} s since start",
                flush=True,
            )
        if training.step % options.save_every == 0 or training.step == stop:
            training.save(checkpoint)
            bits = bits_per_byte(
                text_model.windowed(training.average), training.average, validation, options.length, ROWS_OF_VALIDATION
            )
            print(
                f"step {training.step} validation {bits:.4f} bits per byte, {training.seconds / 60:.1f} min of CPU time",
                flush=True,
            )
    final = {
        "average": training.average.state_dict(),
        "options": training.options,
        "steps": training.step,
        "seconds": training.seconds,
    }
    output_files.write_file(options.out / "final.pt", output_files.opened(lambda file: torch.save(final, file)))


def main() -> None:
    train(parse())


if __name__ == "__main__":
    main()
