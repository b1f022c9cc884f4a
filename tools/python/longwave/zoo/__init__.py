"""Model packages of the published configurations: their sizes as data, seeded random weights or a checkpoint,
a table of what they cost.

    python -m longwave.zoo list
    python -m longwave.zoo write NAME FOLDER [--seed N | --checkpoint FILE]
    python -m longwave.zoo table [NAME ...]

`list` and `write` need numpy alone (checkpoints other than safetensors: PyTorch); `table` needs the built
`longwave`.
"""

from .configurations import ROWS, Row, find
from .families import Model, build

__all__ = ["ROWS", "Model", "Row", "build", "find"]
