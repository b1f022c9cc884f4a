"""The trained keyword network, imported from samples to logits, against its layers: kernels, classes, streams.

The samples are spoken words of the repository. LONGWAVE_CLIPS names a folder with more (.flac or .wav, one second each).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy
import pytest
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from importer_checks import LONGWAVE, ROOT, imported, longwave  # noqa: E402
from longwave.kws.model import KwsConfig, KwsNet  # noqa: E402
from longwave.package import read  # noqa: E402

MODEL = ROOT / "examples/kws/model"
RATE, FRAMES_READ = 16000, 15


class FromSamples(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = KwsNet(KwsConfig())
        missing, unexpected = self.net.load_state_dict(read(MODEL)[1], strict=False)
        assert all(key.startswith(("in_clips.", "in_streams.")) for key in unexpected)
        assert all("auxiliary" in key or "num_batches" in key for key in missing)

    def forward(self, samples: Tensor) -> Tensor:
        return self.net.from_samples(samples)


def layer_form(folder: Path) -> None:
    """The model of the repository with the rows of its head as the only output."""
    model = json.loads((MODEL / "model.json").read_text())
    model["layers"] = [
        entry for entry in model["layers"] if entry["name"] not in ("in_streams", "softmax", "in_clips", "window")
    ]
    model = {key: value for key, value in model.items() if key not in ("decision", "labels")}
    folder.mkdir()
    shutil.copy(MODEL / "weights.safetensors", folder)
    (folder / "model.json").write_text(json.dumps(model | {"outputs": [{"name": "y", "from": "head"}]}))


def kernels(file: Path) -> list[str]:
    """The kernel of each step of the stream and of the offline run, without names."""
    entries = json.loads(longwave("inspect", file, "--steps", "--json"))["entries"]
    return [step.get("kernel", "") for entry in entries for step in entry["plan"]]


def clips() -> list[numpy.ndarray]:
    generator = numpy.random.default_rng(3)
    made = [
        (generator.standard_normal(RATE) * numpy.hanning(RATE) * size).astype(numpy.float32) for size in (0.02, 0.2)
    ]
    if "LONGWAVE_CLIPS" in os.environ:
        soundfile = pytest.importorskip("soundfile")
        files = sorted(f for f in Path(os.environ["LONGWAVE_CLIPS"]).rglob("*") if f.suffix in (".flac", ".wav"))
        made += [numpy.pad(soundfile.read(f, dtype="float32")[0][:RATE], (0, RATE))[:RATE] for f in files]
    return made


def test_the_imported_network_is_the_network_of_layers(tmp_path: Path) -> None:
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    made = imported(FromSamples(), "audio=16000")
    assert not made.report["warnings"], "the kernels of 64 frames end within the example"
    made.write(tmp_path / "imported")
    layer_form(tmp_path / "layers")
    for name in ("imported", "layers"):
        longwave(
            "compile",
            tmp_path / name,
            "-o",
            tmp_path / f"{name}.lw",
            "--target",
            "host",
            "--stream",
            "--length",
            str(RATE),
        )  # checks random cuts
    assert kernels(tmp_path / "imported.lw") == kernels(tmp_path / "layers.lw")
    for clip in clips():
        numpy.save(tmp_path / "x.npy", clip[:, None])
        rows = []
        for name, output in (("imported", "y"), ("layers", "y")):
            longwave(
                "run",
                tmp_path / f"{name}.lw",
                "-i",
                f"audio=@{tmp_path}/x.npy",
                "-o",
                f"{output}={tmp_path}/{name}.npy",
            )
            rows.append(numpy.load(tmp_path / f"{name}.npy"))
        assert numpy.abs(rows[0] - rows[1]).max() <= 2e-6 * numpy.abs(rows[1]).max()
        assert rows[0][-FRAMES_READ:].mean(0).argmax() == rows[1][-FRAMES_READ:].mean(0).argmax()
