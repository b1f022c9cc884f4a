"""A model folder with audio in and audio out whose result is known: the samples as they came, `lag` samples later."""

import array
import json
import struct


def write(folder, row=8, lag=16, rate=16000, length=4096):
    """Rows of `row` samples. `lag` is a multiple of it."""
    rows = {
        "name": "rows/conv",
        "op": "conv2d",
        "inputs": ["audio", {"tensor": "w"}],
        "attributes": {"stride_t": row, "stride_f": 1, "groups": 1, "bias": 0, "frequency": 0},
    }
    late = {"name": "late/shift", "op": "shift", "inputs": ["rows/conv"], "attributes": {"rows": lag // row}}
    folder.mkdir()
    (folder / "model.json").write_text(
        json.dumps(
            {
                "format": "longwave-model",
                "version": 2,
                "name": "late",
                "inputs": [{"name": "audio", "kind": "audio", "sample_rate": rate}],
                "length": length,
                "graph": [rows, late],
                "outputs": [{"name": "clean", "from": "late/shift", "kind": "audio", "lag": lag}],
            }
        )
    )
    eye = array.array("f", [float(t == o) for o in range(row) for t in range(row)]).tobytes()
    header = json.dumps({"w": {"dtype": "F32", "shape": [row, 1, row, 1], "data_offsets": [0, len(eye)]}}).encode()
    (folder / "weights.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + eye)
    return folder
