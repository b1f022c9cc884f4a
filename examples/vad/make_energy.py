"""Writes the model folder examples/vad/energy: a speech detector by level alone. It shows what a model for `longwave vad` looks like: audio in, one
probability for every 512 samples out. It takes any sound for speech: use a trained model for real work."""

import json
import math
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "energy"
AT_DB, PER_DB = -45.0, 0.5  # of full scale: the probability is 1/2 there, and so steep

scale = PER_DB * 10 / math.log(10)  # the natural logarithm of the power becomes decibels
nodes = [
    {"name": "square", "op": "square", "inputs": ["audio"]},
    {
        "name": "power",
        "op": "pool",
        "inputs": ["square"],
        "attributes": {
            "mode": "mean",
            "time": 512,
            "stride_t": 512,
            "frequency": 1,
            "stride_f": 1,
            "pad_f": 0,
            "lag": 0,
            "count_outside": 0,
        },
    },
    {"name": "level", "op": "log", "inputs": ["power"], "attributes": {"offset": 1e-10}},
    {"name": "logit", "op": "affine", "inputs": ["level", {"tensor": "scale"}, {"tensor": "shift"}]},
    {"name": "speech", "op": "sigmoid", "inputs": ["logit"]},
]
model = {
    "format": "longwave-model",
    "version": 2,
    "name": "energy",
    "inputs": [{"name": "audio", "kind": "audio", "sample_rate": 16000}],
    "length": 16384,
    "graph": nodes,
    "outputs": [{"name": "speech", "from": "speech"}],
}
header = {
    "scale": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
    "shift": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
FOLDER.mkdir(exist_ok=True)
(FOLDER / "model.json").write_text(json.dumps(model, indent=1) + "\n")
(FOLDER / "weights.safetensors").write_bytes(
    struct.pack("<Q", len(text)) + text + struct.pack("<2f", scale, -PER_DB * AT_DB)
)
