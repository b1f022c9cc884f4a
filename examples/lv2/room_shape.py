#!/usr/bin/env python3
"""The model folder of a shape for room.c: room_shape.py FOLDER SAMPLES

A long convolution of one channel. Its taps are noise that fades: the plug-in puts others in their place.
"""

import array
import json
import math
import pathlib
import random
import struct
import sys


def write(folder, samples):
    folder.mkdir(parents=True, exist_ok=True)
    room = {"type": "conv1d", "name": "room", "out_channels": 1, "kernel": samples, "bias": False}
    model = {
        "format": "longwave-model",
        "version": 1,
        "name": "room",
        "inputs": [{"name": "x", "kind": "features", "width": 1}],
        "layers": [room],
        "outputs": [{"name": "y", "from": "room"}],
    }
    (folder / "model.json").write_text(json.dumps(model))
    rng = random.Random(1)
    taps = array.array("f", [rng.gauss(0, 0.05) * math.exp(-6 * i / samples) for i in range(samples)])
    taps.reverse()
    tensor = {"dtype": "F32", "shape": [1, 1, samples], "data_offsets": [0, 4 * samples]}
    header = json.dumps({"room.weight": tensor}).encode()
    header += b" " * (-len(header) % 8)
    (folder / "weights.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + taps.tobytes())


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
