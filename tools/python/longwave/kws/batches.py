"""Training sequences: several clips in a row with random gaps (often none), made from the stored log-mel power.

State never starts at zero only: each row of a batch is 5.12 s long and holds four or five clips at places of its own,
or running speech without commands, or noise.  Everything happens in mel power, where adding is mixing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .labels import COMMANDS, SILENCE, UNKNOWN

ROW = 512  # 10 ms frames in a row
CLIP = 100  # 10 ms frames in a clip
SLOTS = 5  # most clips in a row
FLOOR = 1e-5
NOT_A_COMMAND = -2  # `_silence_` and `_unknown_` are both right
EMPTY = -1  # this slot holds nothing
NOBODY = -2  # the fold of no speaker; -1 is that of speakers without a fold
REVERSIBLE = torch.tensor([COMMANDS.index(w) for w in COMMANDS if w not in ("no", "on")])


@dataclass(frozen=True)
class Recipe:
    """Shares of what goes into a slot, and how strongly it is altered."""

    commands: float
    auxiliary: float  # bed, cat, happy
    arabic: float
    negatives: float  # a second of running speech or noise
    spoken: float = 0.0  # commands by synthetic voices
    near: float = 0.0  # words near to a command, by synthetic voices; isolated words of people
    background_rows: float = 0.14  # whole rows without any command
    synthetic: float = 0.0  # share of these rows that synthetic voices speak; half of them where the model was wrong
    chained: float = 0.0  # share of these rows that are words of people without gaps
    hard: float = 0.08  # command slots that become reversed commands or mere parts of one
    mixup: float = 0.3
    auxiliary_head: bool = True
    unknown_weight: float = 0.3  # weight of auxiliary words as `_unknown_`; Arabic words half of it


PRETRAIN = Recipe(commands=0.4, auxiliary=0.15, arabic=0.4, negatives=0.05)
FINETUNE = Recipe(commands=0.72, auxiliary=0.09, arabic=0.09, negatives=0.1)
HARDEN = Recipe(
    commands=0.58,
    auxiliary=0.06,
    arabic=0.06,
    negatives=0.06,
    spoken=0.1,
    near=0.14,
    background_rows=0.4,
    synthetic=0.6,
    chained=0.15,
    auxiliary_head=False,
)
RECIPES = {"pretrain": PRETRAIN, "finetune": FINETUNE, "harden": HARDEN}


@dataclass
class Batch:
    features: Tensor  # (B, ROW, 40) log power, not normalised
    ends: Tensor  # (B, SLOTS) 10 ms frame after the clip
    label: Tensor  # (B, SLOTS) class, NOT_A_COMMAND or EMPTY
    auxiliary: Tensor  # (B, SLOTS) class of the auxiliary head or -1
    weight: Tensor  # (B, SLOTS) of the class loss
    share: Tensor | None  # (B,) share of the row itself when rows were mixed
    partner: Tensor | None  # (B,) row it was mixed with


class Material:
    """The feature cache, memory-mapped so that parallel runs share it.

    `fold`: commands and auxiliary words of that fold's speakers are left out of `pick_clips`; see features.py --folds.
    NOBODY: of no speaker, in a cache for folds.
    """

    def __init__(self, cache: Path, fold: int | None = None) -> None:
        def load(name: str) -> Tensor | None:
            file = cache / f"{name}.npy"
            return torch.from_numpy(np.load(file, mmap_mode="c")) if file.exists() else None

        def needed(name: str) -> Tensor:
            found = load(name)
            if found is None:
                raise FileNotFoundError(f"{cache / name}.npy is missing; prepare it with longwave.kws.features")
            return found

        self.commands, self.commands_label = needed("commands"), needed("commands_label")
        self.auxiliary, self.auxiliary_label = load("auxiliary"), load("auxiliary_label")
        self.arabic, self.arabic_label = load("arabic"), load("arabic_label")
        self.negatives, self.noise = load("negatives"), needed("noise").float()
        self.spoken, self.spoken_label, self.near = load("spoken"), load("spoken_label"), load("near")
        self.speech, self.chains = load("speech"), load("chains")
        self.mistakes: Tensor | None = None  # first frames of rows of `speech` where the model was wrong (mining.py)
        commands_fold, auxiliary_fold = load("commands_fold"), load("auxiliary_fold")
        if fold not in (None, NOBODY) and (commands_fold is None or not (commands_fold == fold).any()):
            raise ValueError(f"{cache}: no clips of fold {fold}; prepare it with longwave.kws.features --folds")
        if fold is None and commands_fold is not None:
            raise ValueError(f"{cache}: prepared for folds, so both splits are in it; give --fold, or another cache")
        self.left_out = None if fold is None or commands_fold is None else torch.where(commands_fold == fold)[0]
        self.commands_used = clips_of(self.commands, commands_fold, fold)
        self.auxiliary_used = used(self.auxiliary, auxiliary_fold, fold)
        self.arabic_used = used(self.arabic, None, None)
        self.silence = self.commands_used[self.commands_label[self.commands_used] == SILENCE]

    def statistics(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation per band of the unaltered training clips, of the middle second."""
        plain = self.commands[self.commands_used, 2, 10:110].float()
        return plain.mean((0, 1)), plain.std((0, 1))


def clips_of(bank: Tensor, fold_of_clip: Tensor | None, fold: int | None) -> Tensor:
    return torch.arange(len(bank)) if fold is None or fold_of_clip is None else torch.where(fold_of_clip != fold)[0]


def there(bank: Tensor | None) -> Tensor:
    """A part of the cache that the recipe draws from."""
    if bank is None:
        raise ValueError(
            "the recipe needs a part of the feature cache that is missing; prepare it with longwave.kws.features"
        )
    return bank


def used(bank: Tensor | None, fold_of_clip: Tensor | None, fold: int | None) -> Tensor | None:
    """Indices of the clips of `bank` that training may use."""
    return None if bank is None else clips_of(bank, fold_of_clip, fold)


def noise_rows(material: Material, count: int, frames: int) -> Tensor:
    """(count, frames, 40) power of mean 1: recorded and synthetic noise, or a training `_silence_` clip in a loop."""
    start = torch.randint(0, len(material.noise) - frames, (count, 1))
    rows = material.noise[start + torch.arange(frames)].exp()
    looped = torch.where(torch.rand(count) < 0.35)[0]
    if len(looped):
        pick = material.silence[torch.randint(len(material.silence), (len(looped),))]
        clip = material.commands[pick, torch.randint(0, 5, (len(looped),))].float().exp()
        rows[looped] = clip.repeat(1, frames // clip.shape[1] + 1, 1)[:, :frames]
    return rows / rows.mean((1, 2), keepdim=True)


def loudness(count: int, low_db: float, high_db: float) -> Tensor:
    """(count, 1, 1) random power factors."""
    return torch.exp(torch.empty(count, 1, 1).uniform_(low_db, high_db) * math.log(10) / 10)


def warp_bands(clips: Tensor, amount: float = 0.1) -> Tensor:
    """Stretches and shifts the mel axis of (n, T, 40) log power at random, like a longer or shorter vocal tract."""
    count, frames, bands = clips.shape
    factor = torch.empty(count, 1).uniform_(1 - amount, 1 + amount)
    source = (torch.arange(float(bands)) * factor + torch.empty(count, 1).uniform_(-0.7, 0.7)).clamp(0, bands - 1.001)
    low = source.long()
    part = (source - low)[:, None]
    index = low[:, None].expand(count, frames, bands)
    return clips.gather(2, index) * (1 - part) + clips.gather(2, index + 1) * part


def make_hard(clips: Tensor, label: Tensor, chosen: Tensor) -> None:
    """Turns the chosen command clips into near misses, in place: played backwards, or only the start or the end."""
    for i in chosen.tolist():
        if not 0 <= label[i] < SILENCE:
            continue
        if torch.rand(()) < 0.4 and (REVERSIBLE == label[i]).any():
            clips[i] = clips[i].flip(0)
        else:
            energy = clips[i].exp().sum(1).cumsum(0)
            edge = int(torch.searchsorted(energy, energy[-1] * (0.3 if torch.rand(()) < 0.5 else 0.75)))
            first = energy[edge] < 0.5 * energy[-1]
            quiet = clips[i].amin(0)
            if first:
                clips[i, edge:] = quiet
            else:
                clips[i, :edge] = quiet
        label[i] = NOT_A_COMMAND


def pick_clips(
    material: Material, recipe: Recipe, count: int, rng: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(count, 100, 40) log power, class, auxiliary class and weight of `count` random clips."""
    shares = np.array([recipe.commands, recipe.auxiliary, recipe.arabic, recipe.negatives, recipe.spoken, recipe.near])
    for number, bank in enumerate(
        (material.commands, material.auxiliary, material.arabic, material.negatives, material.spoken, material.near)
    ):
        if bank is None:
            shares[number] = 0
    kind = torch.from_numpy(rng.choice(len(shares), count, p=shares / shares.sum()))
    clips = torch.zeros(count, CLIP, 40)
    label = torch.full((count,), UNKNOWN)
    auxiliary = torch.full((count,), -1)
    weight = torch.ones(count)
    shift = torch.randint(0, 21, (count, 1))
    frames = torch.arange(CLIP)
    sources = (
        (material.commands, material.commands_label, material.commands_used),
        (material.auxiliary, material.auxiliary_label, material.auxiliary_used),
        (material.arabic, material.arabic_label, material.arabic_used),
    )
    for number, (bank, classes, usable) in enumerate(sources):
        at = torch.where(kind == number)[0]
        if not len(at):
            continue
        bank, classes, usable = there(bank), there(classes), there(usable)
        pick = usable[torch.randint(len(usable), (len(at), 1))]
        copy = torch.randint(bank.shape[1], (len(at), 1))
        clips[at] = bank[pick, copy, shift[at] + frames].float()
        if number == 0:
            label[at] = classes[pick[:, 0]]
            make_hard(clips, label, at[torch.rand(len(at)) < recipe.hard])
            weight[at[label[at] == NOT_A_COMMAND]] = 0.3
        else:
            if recipe.auxiliary_head:
                auxiliary[at] = classes[pick[:, 0]] + (0 if number == 1 else 3)
            weight[at] = recipe.unknown_weight * (1 if number == 1 else 0.5)
    for number, bank, classes in ((4, material.spoken, material.spoken_label), (5, material.near, None)):
        at = torch.where(kind == number)[0]
        if len(at):
            bank = there(bank)
            pick = torch.randint(len(bank), (len(at), 1))
            clips[at] = bank[pick, shift[at] + frames].float()
            label[at] = NOT_A_COMMAND if classes is None else classes[pick[:, 0]]
            weight[at] = 0.5
    at = torch.where(kind == 3)[0]
    if len(at):
        negatives = there(material.negatives)
        start = torch.randint(0, len(negatives) - CLIP, (len(at), 1))
        clips[at] = negatives[start + frames].float()
        label[at] = NOT_A_COMMAND
        weight[at] = 0.5
        hush = at[torch.rand(len(at)) < 0.4]
        if len(hush):
            clips[hush] = (noise_rows(material, len(hush), CLIP) * loudness(len(hush), -35, 13) + FLOOR).log()
            label[hush] = SILENCE
            weight[hush] = 0.3
    return warp_bands(clips), label, auxiliary, weight


def place(rng: np.random.Generator) -> list[int]:
    """Random end frames of the clips of one row; half of the gaps between clips are zero."""
    count = SLOTS if rng.random() < 0.4 else SLOTS - 1
    slack = ROW - CLIP * count
    share = rng.dirichlet(np.full(count + 1, 0.4)) * (rng.random(count + 1) < 0.6)
    gaps = np.floor(slack * share / max(share.sum(), 1e-9)).astype(int)
    return list(np.cumsum(gaps[:count] + CLIP))


def colour(features: Tensor) -> Tensor:
    """Adds a smooth random curve over the bands to each row: microphones and rooms."""
    rows = features.shape[0]
    x = torch.linspace(-1, 1, features.shape[2])
    return features + (
        0.5 * torch.randn(rows, 1, 1) * x
        + 0.3 * torch.randn(rows, 1, 1) * (x * x - 0.33)
        + 0.25 * torch.randn(rows, 1, 1) * torch.cos(5 * x + 6.3 * torch.rand(rows, 1, 1))
    )


def speech_rows(material: Material, count: int) -> Tensor:
    """(count, ROW, 40) log power of synthetic speech: half of it anywhere, half where the model was wrong."""
    speech = there(material.speech)
    start = torch.randint(0, len(speech) - ROW, (count, 1))
    if material.mistakes is not None and len(material.mistakes):
        again = torch.rand(count, 1) < 0.5
        start = torch.where(again, material.mistakes[torch.randint(len(material.mistakes), (count, 1))], start)
    return speech[start + torch.arange(ROW)].float()


def background(material: Material, recipe: Recipe, count: int) -> Tensor:
    """(count, ROW, 40) power of rows without commands: running speech, noise, or next to nothing."""
    if material.negatives is not None:
        start = torch.randint(0, len(material.negatives) - ROW, (count, 1))
        rows = warp_bands(material.negatives[start + torch.arange(ROW)].float()).exp()
    else:
        rows = noise_rows(material, count, ROW) * loudness(count, -35, 13)
    other = torch.where(torch.rand(count) < 0.25)[0]
    if len(other):
        rows[other] = noise_rows(material, len(other), ROW) * loudness(len(other), -60, 13) + FLOOR
    kind = torch.rand(count)
    spoken = torch.where(kind < recipe.synthetic)[0]
    if len(spoken):
        rows[spoken] = warp_bands(speech_rows(material, len(spoken))).exp()
    chained = torch.where(kind > 1 - recipe.chained)[0]
    if len(chained):
        chains = there(material.chains)
        start = torch.randint(0, len(chains) - ROW, (len(chained), 1))
        rows[chained] = warp_bands(chains[start + torch.arange(ROW)].float()).exp()
    return rows


def make_batch(material: Material, recipe: Recipe, rows: int, rng: np.random.Generator) -> Batch:
    """One batch; uses `rng` and torch's global generator."""
    count = rows * SLOTS
    clips, label, auxiliary, weight = pick_clips(material, recipe, count, rng)
    clips = clips + torch.log(loudness(count, -14, 10))
    power = clips.exp().view(rows, SLOTS, CLIP, 40)
    label, auxiliary, weight = label.view(rows, SLOTS), auxiliary.view(rows, SLOTS), weight.view(rows, SLOTS)
    signal = torch.full((rows, ROW, 40), FLOOR)
    ends = torch.zeros(rows, SLOTS, dtype=torch.long)
    for row in range(rows):
        places = place(rng)
        for slot, end in enumerate(places):
            signal[row, end - CLIP : end] = power[row, slot]
            ends[row, slot] = end
        for slot in range(len(places), SLOTS):
            label[row, slot], auxiliary[row, slot], weight[row, slot], ends[row, slot] = EMPTY, -1, 0.0, CLIP
    empty = torch.where(torch.rand(rows) < recipe.background_rows)[0]
    if len(empty):
        signal[empty] = background(material, recipe, len(empty)) * loudness(len(empty), -14, 10)
        label[empty], auxiliary[empty], weight[empty] = NOT_A_COMMAND, -1, 0.3
        ends[empty] = torch.arange(1, SLOTS + 1) * CLIP
    level = signal.mean((1, 2), keepdim=True)
    share = partner = None
    if rng.random() < recipe.mixup:
        partner = torch.randperm(rows)
        share = torch.from_numpy(rng.beta(0.4, 0.4, rows)).float()
        share = torch.maximum(share, 1 - share)
        signal = share[:, None, None] * signal + (1 - share)[:, None, None] * signal[partner]
    noisy = (torch.rand(rows, 1, 1) < 0.65).float() * loudness(rows, -25, 0) + 1e-5
    signal = signal + noise_rows(material, rows, ROW) * level * noisy
    return Batch(colour((signal + 1e-6).log()), ends, label, auxiliary, weight, share, partner)


def mask(features: Tensor, ends: Tensor) -> Tensor:
    """SpecAugment (Park et al. 2019) on normalised features: one band stripe a row, a short gap in half of the clips."""
    rows = features.shape[0]
    band = torch.arange(features.shape[2])
    low = torch.randint(0, 40, (rows, 1, 1))
    hidden = (band >= low) & (band < low + torch.randint(0, 7, (rows, 1, 1)))
    features = features.masked_fill(hidden, 0.0)
    frame = torch.arange(features.shape[1])[None, :, None]
    gone = torch.zeros(rows, features.shape[1], 1, dtype=torch.bool)
    for slot in range(ends.shape[1]):
        start = ends[:, slot, None, None] - CLIP + torch.randint(0, CLIP, (rows, 1, 1))
        length = torch.randint(0, 16, (rows, 1, 1)) * (torch.rand(rows, 1, 1) < 0.5)
        gone |= (frame >= start) & (frame < start + length)
    return features.masked_fill(gone, 0.0)
