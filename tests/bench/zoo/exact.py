"""A row's outputs against their float64 form in PyTorch, and its stream against the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .configurations import Row
from .engine import Engine, made_up
from .model import Model

LIMIT = 1e-5  # of an output's peak
ROUNDINGS = 2  # so many times what the rounding of activations changes in PyTorch: roundings are independent
LARGE = 400_000_000  # parameters: from so many on PyTorch gets them module by module


@dataclass(frozen=True)
class Exactness:
    """Each as a part of the peak of an output. `rounding`: what rounding the input rows of int8 layers changes in
    PyTorch itself, float64 but for that; 0 without such layers. `of_whole` is None without a stream."""

    of_double: float
    rounding: float
    of_whole: float | None

    @property
    def limit(self) -> float:
        return LIMIT + ROUNDINGS * self.rounding


def inputs_of(model: Model, length: int, seed: int) -> dict[str, np.ndarray]:
    """Random values, but positions: those are positions."""
    inputs = made_up(model, length, seed)
    if "position_ids" in inputs:
        inputs["position_ids"] = np.arange(length)
    return inputs


def double_outputs(
    row: Row, model: Model, weights: Path, inputs: Mapping[str, np.ndarray], rounded: bool = False
) -> dict[str, np.ndarray]:
    """The outputs of the package's weights in float64, (rows, width) each. `rounded`: with int8 activations in
    steps, as int8 kernels have them."""
    import torch
    from safetensors.torch import load_file

    from .on_demand import on_demand
    from .peers import peer

    with torch.inference_mode():
        large = model.tensors.parameters > LARGE or row.weights != "float32"
        net = on_demand(row, weights, rounded) if large else peer(row, load_file(weights)).double()
        given = [torch.from_numpy(values)[None] for values in inputs.values()]
        rows = net(*(x.double() if x.is_floating_point() else x for x in given))[0]
        outputs = {model.outputs[0]["name"]: rows.numpy()}
        if "log_probabilities" in (output["name"] for output in model.outputs):
            outputs["log_probabilities"] = net.log_probabilities(rows[-1:]).numpy()
    return outputs


def engine_outputs(
    engine: Engine, artifact: Path, names: list[str], inputs: Mapping[str, np.ndarray], scratch: Path, *flags: str
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


def check(row: Row, model: Model, engine: Engine, artifact: Path, folder: Path) -> Exactness:
    """How far the whole run is from float64, and the stream (where there is one) from the whole run; above
    the limit either is an error.  Of the stream the first output counts, which has a row for every tick."""
    inputs, names = inputs_of(model, row.length, seed=5), [output["name"] for output in model.outputs]
    whole = engine_outputs(engine, artifact, names, inputs, folder)
    tensors = folder / "model" / "weights.safetensors"
    wanted, rounding, stream = double_outputs(row, model, tensors, inputs), 0.0, None
    if row.weights == "int8":
        rounding = difference(double_outputs(row, model, tensors, inputs, rounded=True), wanted)
    if model.streams:
        streamed = engine_outputs(engine, artifact, names[:1], inputs, folder, "--stream")
        stream = difference(streamed, {names[0]: whole[names[0]]})
    found = Exactness(difference(whole, wanted), rounding, stream)
    for what, part in (("PyTorch in float64", found.of_double), ("the whole run as a stream", stream)):
        if part is not None and not part <= found.limit:
            raise ValueError(f"{row.name}: {part:.1e} of the outputs' peak from {what}; the limit is {found.limit:.0e}")
    return found
