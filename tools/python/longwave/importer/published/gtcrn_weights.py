"""A checkpoint of GTCRN, from a clone of its repository or by itself, as the weights of the module (gtcrn.py)."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from ..errors import ImportFailed, Problem
from ..inputs import Input
from ..source import Source
from .found import MOST_HELD
from .gtcrn import CHANNELS, HOP, LAG, NAME, RATE, Gtcrn

REPOSITORY, USUAL = "https://github.com/Xiaobin-Rong/gtcrn", "checkpoints/model_trained_on_dns3.tar"
KNOWN = {  # SHA-256
    "a630d992cf792daf4ce2bb5bcf9c4d389f740a8f09c6e0971184697fe6371b79": "trained on DNS3",
    "250fa2820ea9947704a62dda8e642ba773a067719c5e4294ad95aeab23f06442": "trained on DNS3, as its ONNX files",
    "a0f0e04421d9fc1efe734d44191f5dc4b973ce59d6546af8d64ad9167e2a9944": "trained on VCTK-DEMAND",
}
GET = f"git clone {REPOSITORY}, then --from gtcrn, or --from gtcrn/{USUAL}"


def halves(one: Tensor, two: Tensor, gates: int) -> Tensor:
    """Recurrences of half of the channels each, as one: matrices and biases gate by gate."""
    pairs = zip(one.chunk(gates), two.chunk(gates))
    return torch.cat([torch.block_diag(*pair) if one.dim() == 2 else torch.cat(pair) for pair in pairs])


def path(state: Mapping[str, Tensor], name: str) -> Iterator[tuple[str, Tensor]]:
    """A dual path."""
    for rnn in ("intra_rnn", "inter_rnn"):
        for key in [key for key in state if key.startswith(f"{name}.{rnn}.rnn1.")]:
            yield key.replace(".rnn1.", "."), halves(state[key], state[key.replace(".rnn1.", ".rnn2.")], 3)
    for key in (
        f"{name}.{part}.{kind}"
        for part in ("intra_fc", "inter_fc", "intra_ln", "inter_ln")
        for kind in ("weight", "bias")
    ):
        value = state[key]
        if key.endswith(
            "intra_fc.weight"
        ):  # both directions of a half lay side by side; now both halves of a direction do
            value = value.unflatten(1, (2, 2, CHANNELS // 4)).transpose(1, 2).flatten(1)
        yield key, value


def layer(state: Mapping[str, Tensor], old: str, new: str, transposed: bool) -> Iterator[tuple[str, Tensor]]:
    for key in [key for key in state if key.startswith(old)]:
        value = state[key]
        if key.endswith(("point_conv1.weight", "point_conv2.weight")):
            value = value.transpose(0, 1) if transposed else value
            value = value.reshape(len(value), -1, 1, 3) if "conv1" in key else value  # neighbours of a band are taps
        elif key.endswith("depth_conv.weight") and transposed:
            value = value.flip(2, 3)
        yield new + key[len(old) :], value


def weights(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    made = dict(path(state, "dpgrnn1")) | dict(path(state, "dpgrnn2"))
    for side, parts in (("encoder", "en_convs"), ("decoder", "de_convs")):
        for i in range(5):
            made |= dict(layer(state, f"{side}.{parts}.{i}.", f"{side}.{i}.", side == "decoder"))
    return made | {"to_bands.weight": state["erb.erb_fc.weight"], "from_bands.weight": state["erb.ierb_fc.weight"]}


def module_of(state: Mapping[str, Tensor]) -> Gtcrn:
    module = Gtcrn()
    missing, unexpected = module.load_state_dict(weights(state), strict=False)
    if set(missing) != {"window"} or unexpected:
        raise KeyError(*missing, *unexpected)
    return module.eval()


def published(given: list[str], rate: int | None) -> Source:
    """`given`: a clone of the repository, or one of its checkpoints. Raises ImportFailed and OSError."""
    if rate not in (None, RATE):
        raise ImportFailed(
            [
                Problem(
                    f"--rate {rate}",
                    "",
                    f"{NAME} has a model for {RATE}",
                    "leave it out, and resample the audio: longwave denoise --resample",
                )
            ]
        )
    if len(given) != 1:
        raise ImportFailed(
            [
                Problem(
                    "--from", "", f"{len(given)} paths are named: {NAME} is one checkpoint, which no package holds", GET
                )
            ]
        )
    file = Path(given[0]) / USUAL if Path(given[0]).is_dir() else Path(given[0])
    if not file.is_file():
        raise ImportFailed([Problem(str(file), "", "is not a file", GET)])
    with file.open("rb") as stream:
        content = stream.read(MOST_HELD)
    found = hashlib.sha256(content).hexdigest()
    if found not in KNOWN:
        raise ImportFailed(
            [
                Problem(
                    str(file),
                    "",
                    f"is not a known checkpoint of {REPOSITORY}: its SHA-256 is {found[:16]}...",
                    f"{GET}; weights of your own: python -m longwave.importer my_model:make",
                )
            ]
        )
    state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)["model"]
    notes = [
        f"{NAME} for {RATE} Hz, {KNOWN[found]}, from {file}",
        f"licence of {REPOSITORY}: MIT",
        f"delay: {LAG} samples ({1000 * LAG // RATE} ms), because each sample waits for the frames that overlap",
    ]
    return Source(
        module_of(state),
        [Input("audio", (1, 0), rate=RATE)],
        ["clean"],
        notes=notes,
        options=["--blocks", str(HOP)],
        lags={"clean": LAG},
    )
