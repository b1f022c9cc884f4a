"""From a .nam file to a module that the importer takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from ..api import Imported, import_module
from ..build import checked
from ..errors import ImportFailed, Problem
from ..inputs import Input
from ..settle import WHOLE
from .config import Container, Model, WaveNet, read
from .limits import RATES, WORK
from .model import Capture, Conv, chosen, net_of, reach_of, rest_of

USUAL, LEAST, OUTPUT = 48_000, 1024, "out"
BLOCKS = "64,1"  # the first is the usual one; with the other a live stream has no latency
TEXTS = {  # of the metadata, as they are printed
    "loudness": "loudness {:.1f} dB",
    "gain": "gain {:.2f}",
    "input_level_dbu": "input level {:.1f} dBu",
    "output_level_dbu": "output level {:.1f} dBu",
}


@dataclass
class Opened:
    """`rest`: rows of zeros before the first sample. `length`: rows of the example."""

    module: nn.Module
    inputs: list[Input]
    rest: int
    length: int
    notes: list[str]
    facts: dict[str, Any]

    outputs = [OUTPUT]
    options = ["--blocks", BLOCKS]  # of longwave compile

    @property
    def initial(self) -> dict[str, object]:
        return {WHOLE: ("settle", self.rest)}

    def described(self, imported: Imported) -> None:
        """What the module does not tell: the output is audio, and what the file says of itself."""
        imported.model["outputs"][0] |= {"kind": "audio", "lag": 0}
        imported.report["nam"] = self.facts


def open_file(path: str | Path, size: float | None = None, rate: int | None = None) -> Opened:
    """`size`: 0 to 1, of a capture that has several; else the largest. `rate`: of a file that does not say its own.

    Raises ImportFailed with all that is refused, and OSError.
    """
    model = read(Path(path))
    if size is not None and not 0 <= size <= 1:
        raise ImportFailed(
            [Problem("--size", "", f"{size} is not from 0 to 1", "0 is the smallest model, 1 the largest")]
        )
    one, _ = chosen(model, size)
    found, notes = rate_of(one.rate if model.rate is None else model.rate, rate)
    net = model.net
    if (net.inputs, net.outputs) != (1, 1):
        raise ImportFailed(
            [
                Problem(
                    "config",
                    "",
                    f"turns {net.inputs} channels into {net.outputs}; audio here has one channel",
                    "give a capture of one channel",
                )
            ]
        )
    made = net_of(model, size)
    length = -(-max(LEAST, reach_of(model, size) + 1) // 64) * 64
    work = length * sum(part.work for part in made.modules() if isinstance(part, Conv))
    if work > WORK:
        reason = f"takes {work:,} multiply-adds for {length:,} samples; at most {WORK:,}"
        raise ImportFailed([Problem("config", "", reason, "give a smaller model")])
    about, rest = {**model.about, **one.about}, rest_of(model, found, size)
    facts: dict[str, Any] = {
        "file": Path(path).name,
        "version": one.version,
        "architecture": one.architecture,
        "sample_rate": found,
        "weights": len(one.weights),
        "sizes": sizes_of(model),
        "rest": rest,
        "metadata": about,
    }
    notes = [*described(facts), *notes, *dict.fromkeys(one.notes)]
    return Opened(Capture(made).eval(), [Input("audio", (1, 0), rate=found)], rest, length, notes, facts)


def rate_of(known: int | None, told: int | None) -> tuple[int, list[str]]:
    """Samples per second, and how they are known."""
    if known is not None and told is not None and told != known:
        reason = f"the capture has {known} Hz"
        raise ImportFailed([Problem(f"--rate {told}", "", reason, "leave it out, and resample the audio")])
    if told is not None and not RATES[0] <= told <= RATES[1]:
        reason = f"expected {RATES[0]:,} to {RATES[1]:,}"
        raise ImportFailed([Problem(f"--rate {told}", "", reason, "give the rate of the training")])
    if known is not None:
        return known, []
    if told is not None:
        return told, []
    return USUAL, [f"the file does not say its sample rate: {USUAL} Hz, as usual; say another with --rate"]


def sizes_of(model: Model) -> list[float]:
    """Where a size ends and the next one begins; the last ends with 1."""
    if isinstance(model.net, Container):
        return [most for most, _ in model.net.models]
    if isinstance(model.net, WaveNet):
        counts = (len(array.sizes) for array in model.net.arrays)
        return sorted({(i + 1) / count for count in counts for i in range(count)})
    return [1.0]


def described(facts: Mapping[str, Any]) -> list[str]:
    """For the user."""
    about = facts["metadata"]
    lines = [f"{facts['architecture']} {facts['version']}, {facts['weights']:,} weights, {facts['sample_rate']} Hz"]
    if levels := [text.format(about[key]) for key, text in TEXTS.items() if key in about]:
        lines.append(", ".join(levels))
    if names := [f"{key} {about[key]}" for key in about if key not in TEXTS]:
        lines.append(", ".join(names))
    if len(facts["sizes"]) > 1:
        ends = ", ".join(f"{end:.3g}" for end in facts["sizes"])
        lines.append(f"{len(facts['sizes'])} sizes, which end at {ends}; the default is the largest: --size")
    return lines


def build_file(
    path: str,
    size: float | None,
    rate: int | None,
    folder: Path,
    file: Path,
    compile: Callable[[], None],
    exact: bool = True,
) -> dict[str, Any]:
    """Writes the model folder, calls `compile`, which makes `file` of it, and returns the report. `exact`: compare both.

    Raises ImportFailed and OSError. The folder is written only after the import has succeeded.
    """
    opened = open_file(path, size, rate)
    imported = import_module(
        opened.module,
        opened.inputs,
        length=opened.length,
        outputs=opened.outputs,
        name=Path(path).stem,
        initial=opened.initial,
    )
    opened.described(imported)
    imported.write(folder)
    compile()
    return checked(imported, opened.module, opened.inputs, file) if exact else imported.report
