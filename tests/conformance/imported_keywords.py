#!/usr/bin/env python3
"""The keyword model imported from samples to logits, against the same model as a list of layers, on every clip of a folder.

    imported_keywords.py --build build --clips DIR [--rounds N]

Both are compiled for this machine. Each clip (DIR/<label>/<file>) runs offline through both, and as a stream through the imported one: pushed at once, and
again in random cuts. Compared are kernels, classes, rows, and the bits of both streams. Prints one JSON object; exit 1 where classes, kernels or bits differ,
or rows differ by more than 2e-6 of their peak. The times of both files are the least CPU times of one thread, measured alternately: printed, never judged.
"""

import argparse
import json
import os
import pathlib
import random
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
READ, LIMIT, RATE = 15, 2e-6, 16000


def compiled(folder, longwave):
    """Both files, the imported one first, and what the import says of its errors."""
    from longwave.importer.api import import_module
    from test_importer_kws import FromSamples, layer_form

    made = import_module(FromSamples().eval(), ["audio=16000"])
    made.write(folder / "imported")
    layer_form(folder / "layers")
    for name in ("imported", "layers"):
        longwave.compile(folder / name, folder / f"{name}.lw", stream=True, targets=["host"])
    return [folder / f"{name}.lw" for name in ("imported", "layers")], made.report["errors"]


def pushed(model, samples, cuts):
    """The rows of a stream that gets the samples in pieces that end at `cuts`."""
    import numpy

    ends = [*cuts, len(samples)]
    with model.stream() as stream:
        return numpy.concatenate(
            [stream.process(samples[first:end], last=end == len(samples)) for first, end in zip([0, *cuts], ends)]
        )


def cpu_seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--clips", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    os.environ.setdefault("LONGWAVE_PROGRAM", str(options.build.resolve() / "longwave"))
    os.environ.setdefault("LONGWAVE", str(options.build.resolve() / "longwave"))
    sys.path[:0] = [str(options.build.resolve() / "python"), str(ROOT / "tools/python/tests")]
    import longwave  # before test_importer_kws, which adds the package without the compiled module to the path
    import numpy
    import soundfile
    import torch
    from test_importer_kws import kernels

    torch.set_num_threads(1)
    chance, wrong, worst, right = random.Random(5), [], 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        files, errors = compiled(pathlib.Path(folder), longwave)
        same_kernels = kernels(files[0]) == kernels(files[1])
        imported, layers = (longwave.open(file) for file in files)
        labels = json.loads((ROOT / "examples/kws/model/model.json").read_text())["labels"]
        clips = sorted(file for file in options.clips.rglob("*") if file.suffix in (".flac", ".wav"))
        for file in clips:
            samples = soundfile.read(file, dtype="float32")[0][:RATE]
            samples = numpy.pad(samples, (0, RATE - len(samples)))[:, None]
            found, expected = imported.run(samples), layers.run(samples)
            worst = max(worst, float(numpy.abs(found - expected).max() / numpy.abs(expected).max()))
            classes = [int(rows[-READ:, : len(labels)].mean(0).argmax()) for rows in (found, expected)]
            right += labels[classes[0]] == file.parent.name
            whole = pushed(imported, samples, [])
            parts = pushed(imported, samples, sorted(chance.sample(range(1, RATE), chance.randint(1, 40))))
            if classes[0] != classes[1] or not numpy.array_equal(whole, parts):
                wrong.append(str(file))
        times = [
            [cpu_seconds(lambda: model.run(samples)) for model in (imported, layers)] for _ in range(options.rounds)
        ]
        streams = [
            [cpu_seconds(lambda: pushed(model, samples, [])) for model in (imported, layers)]
            for _ in range(options.rounds)
        ]
        sizes = [file.stat().st_size for file in files]
    offline, stream = (numpy.array(rows).min(0) for rows in (times, streams))
    print(
        json.dumps(
            {
                "clips": len(clips),
                "different_classes_or_bits": wrong,
                "largest_error": worst,
                "limit": LIMIT,
                "accuracy": right / max(len(clips), 1),
                "same_kernels": same_kernels,
                "bytes": sizes,
                "import_errors": errors,
                "offline_ms": [round(1e3 * t, 3) for t in offline],
                "offline_ratio": round(float(offline[0] / offline[1]), 3),
                "stream_ms": [round(1e3 * t, 3) for t in stream],
                "stream_ratio": round(float(stream[0] / stream[1]), 3),
            }
        )
    )
    return 1 if wrong or not same_kernels or not worst <= LIMIT or not clips else 0


if __name__ == "__main__":
    sys.exit(main())
