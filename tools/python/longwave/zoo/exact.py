"""A row's outputs against their float64 form in PyTorch, and its stream against the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .configurations import Row
from .engine import Engine, made_up
from .model import Model

LIMIT = 1e-5  # of an output's peak
INTEGER_LIMIT = 5e-4  # with int8 weights: each layer rounds its rows to steps of 3e-5 of their peak
LARGE = 400_000_000  # parameters: from so many on PyTorch gets them module by module


def limit_of(weights: str) -> float:
    return INTEGER_LIMIT if weights == "int8" else LIMIT


def inputs_of(model: Model, length: int, seed: int) -> dict[str, np.ndarray]:
    """Random values, but positions: those are positions."""
    inputs = made_up(model, length, seed)
    if "position_ids" in inputs:
        inputs["position_ids"] = np.arange(length)
    return inputs


def double_outputs(
    row: Row, model: Model, weights: Path, inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The outputs of the package's weights in float64, (rows, width) each."""
    import torch
    from safetensors.torch import load_file

    from .on_demand import on_demand
    from .peers import peer

    with torch.inference_mode():
        large = model.tensors.parameters > LARGE or row.weights != "float32"
        net = on_demand(row, weights) if large else peer(row, load_file(weights)).double()
        given = [torch.from_numpy(values)[None] for values in inputs.values()]
        rows = net(*(x.double() if x.is_floating_point() else x for x in given))[0]
        outputs = {model.outputs[0]["name"]: rows.numpy()}
        if "log_probabilities" in (output["name"] for output in model.outputs):
            outputs["log_probabilities"] = net.log_probabilities(rows[-1:]).numpy()
    return outputs


def engine_outputs(
    engine: Engine,
    artifact: Path,
    names: list[str],
    inputs: Mapping[str, np.ndarray],
    scratch: Path,
    *flags: str,
) -> dict[str, np.ndarray]:
    """The outputs of these names, of one sequence, whole or, with the flag `--stream`, as a stream."""
    given: list[str] = []
    for name, values in inputs.items():
        np.save(scratch / f"{name}.npy", values)
        given += ["-i", f"{name}=@{scratch / name}.npy"]
    paths = {name: scratch / f"{name}.npy" for name in names}
    for name, path in paths.items():
        given += ["-o", f"{name}={path}"]
    engine("run", artifact, "--memory", "64G", *given, *flags)
    return {name: np.load(path) for name, path in paths.items()}


def difference(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> float:
    """The largest over the outputs, each as a part of the wanted peak."""
    return max(
        float(np.abs(found[name].reshape(values.shape) - values).max() / np.abs(values).max())
        for name, values in wanted.items()
    )


def check(
    row: Row, model: Model, engine: Engine, artifact: Path, folder: Path, weights: str | None = None
) -> tuple[float, float | None]:
    """How far the whole run is from float64, and the stream (where there is one) from the whole run; above
    the limit either is an error.  Of the stream the first output counts, which has a row for every tick.
    `weights`: those of the row if None."""
    limit = limit_of(weights or row.weights)
    inputs, names = inputs_of(model, row.length, seed=5), [output["name"] for output in model.outputs]
    whole = engine_outputs(engine, artifact, names, inputs, folder)
    exact = difference(whole, double_outputs(row, model, folder / "model" / "weights.safetensors", inputs))
    stream = None
    if model.streams:
        streamed = engine_outputs(engine, artifact, names[:1], inputs, folder, "--stream")
        stream = difference(streamed, {names[0]: whole[names[0]]})
    for what, found in (("PyTorch in float64", exact), ("the whole run as a stream", stream)):
        if found is not None and not found <= limit:
            raise ValueError(
                f"{row.name}: {found:.1e} of the outputs' peak from {what}; the limit is {limit:.0e}"
            )
    return exact, stream
