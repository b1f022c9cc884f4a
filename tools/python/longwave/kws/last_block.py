"""Trains the last block and the head of a finished keyword model on stored rows of the blocks before it.

    python -m longwave.kws.last_block rows CACHE MODEL ROWS [--batches 160] [--part 0/1] [--seed 0] [--fold K]
    python -m longwave.kws.last_block train MODEL ROWS OUT [--steps 700] [--rate 1e-3] [--seed 0]

The blocks before the last one do not change. So their outputs are computed once (`rows`; `--part 1/3` computes a third of them),
and a step takes a fraction of the time of train_kws. CACHE holds the features of hard_features.py. Streams without commands are
searched for mistakes by each version of the head, and half of the windows come from there.

OUT is a run like one of train_kws: final.pt.
"""
from __future__ import annotations

import argparse
import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from . import batches, losses
from .batches import NOT_A_COMMAND, SLOTS
from .labels import SILENCE
from .model import KwsNet, channel_norm
from .precision import fast_products
from .shipped import load_folder

PIECE = 6000  # 10 ms frames of a stream that get one level, one colour and one noise
WINDOW = batches.ROW // 2  # rows
ROWS_A_BATCH = 24
EXTRA = 14  # windows of the streams in a step
SHARES = {"speech": 0.6, "chains": 0.2, "negatives": 0.2}
ROUNDS = 4  # searches for mistakes
SCORE, APART, MOST = 0.05, 40, 1500
CLIPS = replace(batches.HARDEN, background_rows=0.1, synthetic=0.0, chained=0.0)
WEIGHT = 0.3  # of the class of a window without commands


def before_last(net: KwsNet, normalised: Tensor) -> Tensor:
    """(B, T, 40) features -> (channels, B, T/2): what enters the last block."""
    with fast_products():
        x = net.stem(normalised)
        for block in net.blocks[:-1]:
            x = block(x)
    return x.float()


def altered(material: batches.Material, stream: Tensor) -> Tensor:
    """(pieces, PIECE, 40) log power: each piece with a level, colour and noise of its own."""
    count = len(stream) // PIECE
    power = batches.warp_bands(stream[:count * PIECE].view(count, PIECE, -1).float()).exp() * batches.loudness(count, -14, 10)
    noisy = (torch.rand(count, 1, 1) < 0.65).float() * batches.loudness(count, -25, 0)
    noise = batches.noise_rows(material, count, batches.ROW * 4).repeat(1, PIECE // (4 * batches.ROW) + 1, 1)[:, :PIECE]
    power = power + noise * noisy * power.mean((1, 2), keepdim=True) + 1e-6
    return batches.colour(power.log())


def part_of(total: int, part: str) -> range:
    number, parts = map(int, part.split("/"))
    return range(number, total, parts)


@torch.no_grad()
def rows(options: argparse.Namespace) -> None:
    net = load_folder(options.model)
    material = batches.Material(options.cache, options.fold)
    options.rows.mkdir(parents=True, exist_ok=True)
    name = options.part.replace("/", "of")
    found = []
    for step in part_of(options.batches, options.part):
        torch.manual_seed(options.seed * 1_000_003 + step)
        batch = batches.make_batch(material, CLIPS, ROWS_A_BATCH, np.random.default_rng([options.seed, step]))
        hidden = before_last(net, batches.mask(net.front_end.normalise(batch.features), batch.ends))
        found.append((hidden.half(), batch.ends, batch.label, batch.weight, batch.share, batch.partner))
    torch.save(found, options.rows / f"batches-{name}.pt")
    torch.manual_seed(options.seed)
    for stream_name in SHARES:
        stream = getattr(material, stream_name)
        for at in part_of(len(stream) // (10 * PIECE) + 1, options.part):
            piece = stream[at * 10 * PIECE:(at + 1) * 10 * PIECE]
            if len(piece) >= PIECE:
                hidden = before_last(net, net.front_end.normalise(altered(material, piece))).flatten(1).t().half()
                np.save(options.rows / f"{stream_name}-{at:04}.npy", hidden.contiguous().numpy())


def last(net: KwsNet, hidden: Tensor) -> Tensor:
    """(channels, B, T) -> (channels, B, T) after the last block and the norm."""
    with fast_products():
        return channel_norm(net.norm, net.blocks[-1](hidden).float())


def frozen_statistics(net: KwsNet) -> None:
    """Train mode with the stored means and deviations of the norms."""
    net.train()
    for module in net.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.eval()


@torch.no_grad()
def mistakes(net: KwsNet, stream: np.ndarray) -> np.ndarray:
    """Rows of the highest smoothed command scores, at least APART rows from each other."""
    net.eval()
    top = []
    for at in range(0, len(stream), 32768):
        hidden = torch.from_numpy(stream[at:at + 32768]).float().t()[:, None].contiguous()
        top.append(losses.smoothed_scores(net.head(last(net, hidden).permute(1, 2, 0)))[0].amax(0))
    score = torch.cat(top).numpy()
    padded = np.pad(score, (0, -len(score) % APART)).reshape(-1, APART)
    at = padded.argmax(1) + APART * np.arange(len(padded))
    at = at[padded.max(1) >= SCORE]
    return at[np.argsort(-score[at])][:MOST]


def windows(streams: dict[str, np.ndarray], wrong: dict[str, np.ndarray], rng: np.random.Generator) -> Tensor:
    """(channels, EXTRA, WINDOW): half of them over a mistake."""
    names = list(streams)
    shares = np.array([SHARES[name] for name in names])
    found = []
    for which in rng.choice(len(names), EXTRA, p=shares / shares.sum()):
        stream, places = streams[names[which]], wrong[names[which]]
        end = len(stream) - WINDOW - 1
        start = int(rng.integers(0, end))
        if len(places) and rng.random() < 0.5:
            start = int(np.clip(places[rng.integers(len(places))] - rng.integers(90, WINDOW - 20), 0, end))
        found.append(stream[start:start + WINDOW])
    return torch.from_numpy(np.stack(found)).float().permute(2, 0, 1).contiguous()


def clip_vectors(hidden: Tensor, ends: Tensor) -> Tensor:
    index = (ends[:, :, None] // 2 - losses.READ + torch.arange(losses.READ)).flatten(1)
    picked = hidden.gather(2, index.expand(hidden.shape[0], -1, -1))
    return picked.view(hidden.shape[0], -1, losses.READ).mean(2).t()


def step_loss(net: KwsNet, stored: tuple, extra: Tensor, missed_weight: float, false_weight: float) -> Tensor:
    hidden, ends, label, weight, share, partner = stored
    count = extra.shape[1]
    ends = torch.cat([ends, (torch.arange(1, SLOTS + 1) * batches.CLIP).expand(count, -1)])
    label = torch.cat([label, torch.full((count, SLOTS), NOT_A_COMMAND)])
    weight = torch.cat([weight, torch.full((count, SLOTS), WEIGHT)])
    if partner is None:
        share, partner = torch.ones(len(hidden[0])), torch.arange(len(hidden[0]))
    share = torch.cat([share, torch.ones(count)])
    partner = torch.cat([partner, torch.arange(len(partner), len(partner) + count)])
    out = last(net, torch.cat([hidden.float(), extra], 1))

    def one(which: Tensor, part: Tensor) -> Tensor:
        loss = losses.class_loss(net.head(clip_vectors(out, ends[which])), label[which].flatten(), 0.05)
        factor = (weight[which] * part[:, None]).flatten()
        return (loss * factor).sum() / factor.sum().clamp(min=1)

    rest = 1 - share
    loss = one(torch.arange(len(partner)), share) + one(partner, rest) * float(rest.mean())
    frames = net.head(out.permute(1, 2, 0))
    allowed = losses.allowed_words(ends, label, frames.shape[1])
    allowed = allowed | allowed[partner]
    missed, false = losses.detection_loss(frames, ends, label, allowed)
    row = torch.where((label >= 0) & (label < SILENCE))[0]
    return loss + missed_weight * (missed * share[row]).mean() + false_weight * false


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(options.seed)
    net = load_folder(options.model)
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    trained = [*net.blocks[-1].parameters(), *net.norm.parameters(), *net.head.parameters()]
    for parameter in trained:
        parameter.requires_grad_(True)
    stored = [batch for file in sorted(options.rows.glob("batches-*.pt")) for batch in torch.load(file)]
    streams = {name: np.concatenate([np.load(file) for file in sorted(options.rows.glob(f"{name}-*.npy"))]) for name in SHARES}
    average = copy.deepcopy(net)
    optimiser = torch.optim.AdamW(trained, lr=options.rate, weight_decay=0.01)
    pairs = [(a, n) for a, n in zip(average.parameters(), net.parameters())]
    running = 0.0
    for step in range(options.steps):
        rng = np.random.default_rng([options.seed, step])
        torch.manual_seed(options.seed * 1_000_003 + step)
        if step % max(1, options.steps // ROUNDS) == 0:
            wrong = {name: mistakes(average, stream) for name, stream in streams.items()}
            print(f"step {step} loss {running:.3f} mistakes " + ", ".join(f"{n} {len(w)}" for n, w in wrong.items()), flush=True)
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1.0, (step + 1) / 40, (options.steps - step) / (0.5 * options.steps))
        frozen_statistics(net)
        loss = step_loss(net, stored[rng.integers(len(stored))], windows(streams, wrong, rng), options.missed, options.false)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 2.0)
        optimiser.step()
        with torch.no_grad():
            for a, n in pairs:
                a.lerp_(n, 1 - min(0.98, (step + 1) / (step + 11)))
        running = loss.item() if step == 0 else 0.98 * running + 0.02 * loss.item()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.save({"average": average.eval().state_dict(), "net_kind": "sgconv"}, options.out / "final.pt")
    print(f"step {options.steps} loss {running:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    first = verbs.add_parser("rows")
    first.add_argument("cache", type=Path)
    first.add_argument("model", type=Path)
    first.add_argument("rows", type=Path)
    first.add_argument("--batches", type=int, default=160)
    first.add_argument("--part", default="0/1", help="this of so many parts")
    first.add_argument("--seed", type=int, default=0)
    first.add_argument("--fold", type=int, help="leave out the speakers of this fold (longwave.kws.crossval)")
    second = verbs.add_parser("train")
    second.add_argument("model", type=Path)
    second.add_argument("rows", type=Path)
    second.add_argument("out", type=Path)
    second.add_argument("--steps", type=int, default=700)
    second.add_argument("--rate", type=float, default=1e-3)
    second.add_argument("--missed", type=float, default=0.25)
    second.add_argument("--false", type=float, default=0.8)
    second.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    (rows if options.verb == "rows" else train)(options)


if __name__ == "__main__":
    main()
