"""Trains the keyword model on prepared features; see README.md for the order of commands.

    python -m longwave.train_kws DATA --cache CACHE --stage pretrain --steps 4500 --stop 3000 --seed 100 --out pre
    python -m longwave.train_kws DATA --cache CACHE --stage finetune --init pre --steps 5000 --stop 2750 --cooldown 500 \\
        --rate 3e-3 --seed 0 --out seed0

The schedule is counted in steps.  A run that was stopped goes on from its last checkpoint with the same command, and
each step draws its random numbers from (seed, step).  Features are prepared first when the cache is empty.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from . import output_files
from .kws import batches, features, losses
from .kws.labels import SILENCE
from .kws.mining import mistakes
from .kws.model import KwsConfig, KwsNet
from .kws.precision import fast_products
from .kws.shipped import load_folder

EMA = 0.997
SAVE_EVERY = 250


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="data folder; layouts: see longwave/kws/datasets.py")
    parser.add_argument("--cache", type=Path, required=True, help="folder of the prepared features")
    parser.add_argument("--out", type=Path, required=True, help="folder of this run")
    parser.add_argument("--stage", choices=list(batches.RECIPES), default="finetune")
    parser.add_argument("--init", type=Path, help="run whose averaged weights to start from, or a model folder")
    parser.add_argument("--steps", type=int, required=True, help="length of the learning-rate schedule")
    parser.add_argument("--stop", type=int, help="end earlier than the schedule")
    parser.add_argument("--cooldown", type=int, default=0, help="steps before --stop in which the rate falls to zero")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--fold",
        type=int,
        help="leave out the speakers of this fold (longwave.kws.crossval); "
        f"{batches.NOBODY}: of a cache for folds, leave out nobody",
    )
    parser.add_argument(
        "--mine", type=int, default=400, help="with --stage harden: steps between two searches for mistakes"
    )
    parser.add_argument("--average", type=float, default=EMA, help="share that the averaged weights keep in a step")
    parser.add_argument("--rows", type=int, default=28, help="sequences of 5.12 s in a batch")
    parser.add_argument("--rate", type=float, default=4e-3, help="highest learning rate")
    parser.add_argument("--decay", type=float, default=0.05, help="weight decay")
    parser.add_argument("--missed", type=float, default=0.25, help="weight of the detection loss of missed words")
    parser.add_argument("--false", type=float, default=0.8, help="weight of the detection loss of false words")
    return parser.parse_args()


def clip_vectors(hidden: Tensor, ends: Tensor) -> Tensor:
    """One vector per clip, (B * SLOTS, channels): the mean of the last READ frames."""
    index = (ends[:, :, None] // 2 - losses.READ + torch.arange(losses.READ)).flatten(1)
    picked = hidden.gather(2, index.expand(hidden.shape[0], -1, -1))
    return picked.view(hidden.shape[0], -1, losses.READ).mean(2).t()


def batch_loss(net: KwsNet, batch: batches.Batch, options: argparse.Namespace) -> Tensor:
    features_in = batches.mask(net.front_end.normalise(batch.features), batch.ends)
    with fast_products():
        hidden = net.hidden(features_in).float()  # (channels, B, T)

    def one(rows: Tensor | slice, share: Tensor | None) -> Tensor:
        vectors = clip_vectors(hidden, batch.ends[rows])
        weight = batch.weight[rows] if share is None else batch.weight[rows] * share[:, None]
        return losses.clip_loss(
            net.head(vectors),
            net.auxiliary(vectors),
            batch.label[rows].flatten(),
            batch.auxiliary[rows].flatten(),
            weight.flatten(),
        )

    everything = slice(None)
    if batch.partner is None or batch.share is None:
        loss = one(everything, None)
    else:
        rest = 1 - batch.share
        loss = one(everything, batch.share) + one(batch.partner, rest) * float(rest.mean())
    if options.missed == 0 and options.false == 0:
        return loss
    frames = net.head(hidden.permute(1, 2, 0))
    allowed = losses.allowed_words(batch.ends, batch.label, frames.shape[1])
    if batch.partner is not None:
        allowed = allowed | allowed[batch.partner]
    missed, false = losses.detection_loss(frames, batch.ends, batch.label, allowed)
    if batch.share is not None:
        row = torch.where((batch.label >= 0) & (batch.label < SILENCE))[0]
        missed = missed * batch.share[row]
    result: Tensor = loss + options.missed * missed.mean() + options.false * false
    return result


@torch.no_grad()
def quick_accuracy(net: KwsNet, cache: Path, material: batches.Material) -> float:
    """Top-1 in percent of isolated validation clips, or of those of the fold left out; nan where nobody is. For the log only."""
    net.eval()
    if material.left_out is not None and not len(material.left_out):
        return math.nan
    if material.left_out is None:
        clips = torch.from_numpy(np.load(cache / "val.npy")).float()
        label = torch.from_numpy(np.load(cache / "val_label.npy"))
    else:
        clips = material.commands[material.left_out, 2, 10:110].float()
        label = material.commands_label[material.left_out]
    x = net.front_end.normalise(clips)
    logits = torch.cat([net(part)[:, -losses.READ :].mean(1) for part in x.split(64)])
    result: float = 100 * (logits.argmax(1) == label).float().mean().item()
    return result


def parameter_groups(net: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Weight decay on matrices only; long-convolution kernels, norms and biases without."""
    decayed: list[nn.Parameter] = []
    free: list[nn.Parameter] = []
    for name, parameter in net.named_parameters():
        (decayed if parameter.dim() > 1 and "kernel_list" not in name and not name.endswith(".D") else free).append(
            parameter
        )
    return [{"params": decayed, "weight_decay": decay}, {"params": free, "weight_decay": 0.0}]


def learning_rate(step: int, steps: int, highest: float) -> float:
    """200 steps of warm-up, then a half cosine to zero."""
    return highest * min(1.0, (step + 1) / 200) * 0.5 * (1 + math.cos(math.pi * step / steps))


def cooldown(step: int, stop: int, steps: int) -> float:
    """1, then a straight line to 0 over the last `steps` steps before `stop`."""
    return min(1.0, (stop - step) / steps) if steps else 1.0


def prepared(data: Path, cache: Path, fold: int | None) -> batches.Material:
    cache.mkdir(parents=True, exist_ok=True)
    if not (cache / "val.npy").exists() and fold is None:
        for name, prepare in features.PARTS.items():
            if (data / "pretrain").is_dir() or name not in ("auxiliary", "arabic"):
                prepare(data, cache)
    return batches.Material(cache, fold)


def initialise(net: nn.Module, source: Path) -> None:
    if (source / "model.json").exists():
        net.load_state_dict(load_folder(source).state_dict())
    else:
        net.load_state_dict(torch.load(source / "final.pt")["average"])


def main() -> None:
    options = parse()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    material = prepared(options.data, options.cache, options.fold)
    recipe = batches.RECIPES[options.stage]
    net = KwsNet(KwsConfig())
    mean, deviation = material.statistics()
    net.front_end.mean.copy_(mean)
    net.front_end.scale.copy_(1 / deviation)
    if options.init:
        initialise(net, options.init)
    average = copy.deepcopy(net).eval()
    optimiser = torch.optim.AdamW(parameter_groups(net, options.decay), lr=options.rate, fused=True)
    options.out.mkdir(parents=True, exist_ok=True)
    checkpoint, first = options.out / "checkpoint.pt", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        net.load_state_dict(saved["net"])
        average.load_state_dict(saved["average"])
        optimiser.load_state_dict(saved["optimiser"])
        first = saved["step"]
    shown = {k: str(v) for k, v in vars(options).items()}
    output_files.write_text(options.out / "options.json", json.dumps(shown, indent=1))
    print(json.dumps(shown), "parameters", sum(p.numel() for p in net.parameters()), "from step", first, flush=True)
    pairs = [(a, n) for a, n in zip(average.state_dict().values(), net.state_dict().values()) if a.is_floating_point()]
    averages, currents = [a for a, _ in pairs], [n for _, n in pairs]
    running, begin = 0.0, time.time()
    stop = options.stop or options.steps
    for step in range(first, stop):
        rng = np.random.default_rng([options.seed, step])
        torch.manual_seed(options.seed * 1_000_003 + step)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, options.steps, options.rate) * cooldown(step, stop, options.cooldown)
        if options.stage == "harden" and (step % options.mine == 0 or step == first):
            material.mistakes = mistakes(average, batches.there(material.speech))
            print(f"step {step} rows with mistakes: {len(material.mistakes)}", flush=True)
        batch = batches.make_batch(material, recipe, options.rows, rng)
        net.train()
        loss = batch_loss(net, batch, options)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(averages, currents, 1 - min(options.average, (step + 1) / (step + 31)))
        running = loss.item() if step == first else 0.99 * running + 0.01 * loss.item()
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == stop:
            state = {
                "net": net.state_dict(),
                "average": average.state_dict(),
                "optimiser": optimiser.state_dict(),
                "step": step + 1,
            }
            output_files.write_file(checkpoint, output_files.opened(lambda file: torch.save(state, file)))
            print(
                f"step {step + 1} loss {running:.3f} left-out clips, isolated {quick_accuracy(average, options.cache, material):.2f} % "
                f"{(time.time() - begin) / (step + 1 - first):.3f} s/step",
                flush=True,
            )
    final = {"average": average.state_dict(), "options": shown}
    output_files.write_file(options.out / "final.pt", output_files.opened(lambda file: torch.save(final, file)))


if __name__ == "__main__":
    main()
