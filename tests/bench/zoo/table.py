"""What each configuration costs: counted, written, compiled, run whole at its published length, streamed
where no layer looks ahead, beside PyTorch.

A row fails where its count is not the known one, where the engine refuses it, or where its outputs are not
PyTorch's.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import exact
from .configurations import Row, fits
from .engine import Engine
from .families import build, write

LIMIT = 2e-4  # of the outputs' peak: float32 in both, summed in other orders through up to 16 layers


@dataclass
class Cost:
    """A measured row.  Memory in bytes.  Times of whole runs are those of the CPU, one thread each, so that
    a busy machine stretches neither; of compiling and of stream calls by the clock.  `ratio` is ours / PyTorch's;
    None: not measured."""

    name: str
    parameters: int
    length: int
    compile_s: float
    artifact_bytes: int
    whole_ms: float
    peak_bytes: int
    stream_us: float | None = None
    state_bytes: int | None = None
    torch_ms: float | None = None
    ratio: float | None = None
    difference: float | None = None
    settings: str = ""


HEAD = (
    "| configuration | parameters | length | compile, s | artifact, MB | whole, ms | peak memory, MB "
    "| stream, µs a tick | state, MB "
    "| PyTorch, ms | ours / PyTorch | difference |\n" + "|---" * 12 + "|"
)


def text(cost: Cost) -> str:
    """A line of the table."""

    def number(value: float | None, form: str, scale: float = 1.0) -> str:
        return "-" if value is None else format(value / scale, form)

    def figure(value: float | None) -> str:
        return number(value, ",.0f" if value is not None and value >= 1000 else ".4g")

    return (
        f"| `{cost.name}` | {cost.parameters:,} | {cost.length:,} | {cost.compile_s:.1f} "
        f"| {cost.artifact_bytes / 1e6:.1f} | {figure(cost.whole_ms)} "
        f"| {cost.peak_bytes / 1e6:.0f} | {figure(cost.stream_us)} "
        f"| {number(cost.state_bytes, '.3g', 1e6)} "
        f"| {figure(cost.torch_ms)} | {number(cost.ratio, '.2f')} | {number(cost.difference, '.1e')} |"
    )


def measure(
    row: Row, engine: Engine, folder: Path, rounds: int, repeats: int, ticks: int, with_torch: bool, seed: int = 0
) -> Cost:
    """Files of the row stay in `folder`."""
    model = build(row)
    parameters = model.tensors.parameters
    if not fits(row, parameters):
        raise ValueError(f"{row.name}: {parameters:,} parameters, known: {row.recount or row.paper}")
    folder.mkdir(parents=True, exist_ok=True)
    write(model, row.name, folder / "model", model.tensors.random(seed), row.stored)
    artifact = folder / f"{row.name}.lw"
    compiled = engine.compile(
        folder / "model", artifact, row.length, model.streams, row.block, proof=not row.exact, weights=row.weights
    )
    inputs = exact.inputs_of(model, row.length, seed=3)
    whole = engine.run_process(artifact, inputs, folder, model.outputs[0]["name"])
    found = np.load(folder / "output.npy")
    if not np.isfinite(found).all():
        raise ValueError(f"{row.name}: the outputs are not finite")
    bench = engine.bench(artifact, repeats, ticks)
    cost = Cost(
        row.name,
        parameters,
        row.length,
        compiled.seconds,
        compiled.artifact_bytes,
        bench["run"]["processor_median_ms"],
        whole.peak_bytes,
        settings=f"{bench['machine']['cpu']}, load {bench['machine']['load']:.1f}, code {bench['variant']}",
    )
    if model.streams:
        if not (compiled.stream_proved or row.exact):
            raise ValueError(f"{row.name}: its stream was not proved equal to the whole")
        cost.stream_us = bench["stream"]["ns_per_tick"] / 1e3
        cost.state_bytes = bench["stream"]["state_bytes"]
    if row.exact:
        exactness = exact.check(row, model, engine, artifact, folder)
        cost.settings += f", from float64 {exactness.of_double:.1e}" + (
            "" if exactness.of_whole is None else f", stream from whole {exactness.of_whole:.1e}"
        )
    if with_torch and parameters < exact.LARGE:
        beside_torch(cost, row, engine, artifact, folder, inputs, found, rounds, repeats)
    return cost


def beside_torch(
    cost: Cost,
    row: Row,
    engine: Engine,
    artifact: Path,
    folder: Path,
    inputs: Mapping[str, np.ndarray],
    found: np.ndarray,
    rounds: int,
    repeats: int,
) -> None:
    """Both in turns, so that a slow spell of the machine meets both; one thread each, PyTorch in inference
    mode with everything constant computed once."""
    import torch
    from safetensors.torch import load_file

    from .fast import choose_chunk, fastest
    from .peers import peer

    torch.set_num_threads(1)
    with torch.inference_mode():
        net = fastest(peer(row, load_file(folder / "model" / "weights.safetensors")), row.length)
        given = [torch.from_numpy(values)[None] for values in inputs.values()]
        chunk = choose_chunk(net, given)
        if chunk is not None:
            cost.settings += f", PyTorch's attention {chunk} rows at a time"
        wanted = net(*given)[0].numpy()
        cost.difference = float(np.abs(found.reshape(wanted.shape) - wanted).max() / np.abs(wanted).max())
        if not cost.difference <= LIMIT:
            raise ValueError(
                f"{row.name}: its outputs are {cost.difference:.1e} of their peak from PyTorch's; "
                f"the limit is {LIMIT:.0e}"
            )
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(whole_ms(engine, artifact, repeats))
            theirs.append(statistics.median(timed(net, given) for _ in range(max(1, repeats))))
    cost.whole_ms, cost.torch_ms = statistics.median(ours), statistics.median(theirs)
    cost.ratio = statistics.median(a / b for a, b in zip(ours, theirs))


def whole_ms(engine: Engine, artifact: Path, repeats: int) -> float:
    result: float = engine.bench(artifact, repeats, 1)["run"]["processor_median_ms"]
    return result


def timed(net: Any, given: list[Any]) -> float:
    begin = time.process_time()
    net(*given)
    return 1e3 * (time.process_time() - begin)


def as_json(cost: Cost) -> str:
    return json.dumps(asdict(cost))
