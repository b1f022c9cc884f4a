"""CPU time per hop of 8 ms: `longwave denoise` beside the two ONNX Runtime calls of the package, one thread each, in turns.

    dtln_speed.py LONGWAVE NOISY.wav DTLN.lw... [--rounds 5]

NOISY.wav: 16 kHz, 32-bit floats. DTLN.lw: from `longwave compile`, perhaps of several --blocks. A time of Longwave is that of the whole process
with opening the file, reading and writing; one of ONNX Runtime is that of its two calls alone. The least of the rounds counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy
import soundfile
from test_importer_dtln import HOP, WINDOW, package_files


def two_calls(audio: numpy.ndarray) -> float:
    """Seconds for each hop. What the graphs read is prepared outside of the time."""
    import onnxruntime as ort

    settings = ort.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    one, two = (
        ort.InferenceSession(str(file), settings, providers=["CPUExecutionProvider"]) for file in package_files()
    )
    first = second = numpy.zeros((1, 2, 128, 2), numpy.float32)
    frames, busy = numpy.lib.stride_tricks.sliding_window_view(audio, WINDOW)[::HOP], 0.0
    for frame in frames:
        magnitude, samples = (
            numpy.abs(numpy.fft.rfft(frame)).astype(numpy.float32).reshape(1, 1, -1),
            frame.reshape(1, 1, -1),
        )
        begun = time.process_time()
        _, first = one.run(None, {"input_2": magnitude, "input_3": first})
        _, second = two.run(None, {"input_4": samples, "input_5": second})
        busy += time.process_time() - begun
    return busy / len(frames)


def denoise(program: str, model: str, sound: str, hops: float) -> float:
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [program, "denoise", model, sound, Path(folder) / "clean.wav"], check=True, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / hops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("sound")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    audio, _ = soundfile.read(given.sound, dtype="float32")
    times: dict[str, list[float]] = {}
    for _ in range(given.rounds):
        times.setdefault("two calls of ONNX Runtime", []).append(two_calls(audio))
        for model in given.models:
            times.setdefault(model, []).append(denoise(given.longwave, model, given.sound, len(audio) / HOP))
    least = {name: min(values) for name, values in times.items()}
    for name, seconds in least.items():
        print(
            f"{name}: {1e6 * seconds:.1f} us for each hop, {seconds / least['two calls of ONNX Runtime']:.3f} of the two calls"
        )


if __name__ == "__main__":
    main()
