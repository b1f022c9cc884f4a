"""worker.py prepare FOLDER: features of the demo recording and the expected rows, with PyTorch.
worker.py make PEER WAY FORM FOLDER: the file of an engine, with PyTorch.
worker.py measure PEER WAY FORM FOLDER: times, memory and error of a file that was made. WAY `pipeline`: from samples to decisions.

The last line printed is a JSON object. A limit of CPU time on this process would make the kernel count in steps of 4 ms: there is none.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy  # noqa: E402

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "peers")]
from engines import ENGINES  # noqa: E402
from files import reason  # noqa: E402
from measuring import imported, percentiles, resident, timed  # noqa: E402

FRAMES = 2  # new ones in a step, as in networks.py, which needs PyTorch


def prepare(folder: Path) -> dict[str, Any]:
    import networks

    net = networks.trained()
    heard = networks.features(net)
    stream, window = networks.expected(net, heard)
    numpy.savez(folder / "expected.npz", features=heard.numpy(), stream=stream, window=window)
    return {}


def make(peer: str, way: str, form: str, folder: Path) -> dict[str, Any]:
    import networks

    warnings.filterwarnings("ignore")
    ENGINES[peer][2](way, form, networks.trained(), folder)
    return {}


def inputs_of(way: str, features: numpy.ndarray, frames: int) -> list[numpy.ndarray]:
    """What the calls get, one after another. Before a stream there is silence of zeros."""
    if way == "stream":
        features = numpy.pad(features, ((0, 0), (frames - FRAMES, 0), (0, 0)))
    return [
        numpy.ascontiguousarray(features[:, at : at + frames])
        for at in range(0, features.shape[1] - frames + 1, FRAMES)
    ]


def error_of(rows: numpy.ndarray, expected: numpy.ndarray) -> tuple[float, int]:
    """Largest error relative to the peak, and the delay of the stream in rows: the one that leaves the least error."""
    peak = numpy.abs(expected).max()
    errors = [float(numpy.abs(rows[delay:] - expected[: len(expected) - delay]).max() / peak) for delay in range(4)]
    delay = int(numpy.argmin(errors))
    return errors[delay], delay


def measure_network(peer: str, way: str, form: str, folder: Path) -> dict[str, Any]:
    data = numpy.load(folder.parent / "expected.npz")
    before = imported(peer)
    begin = time.process_time()
    started = ENGINES[peer][3](way, form, folder)
    opened = time.process_time()
    given = inputs_of(way, data["features"], started.frames)
    ready = time.process_time()
    first = numpy.array(started.call(given[0]))
    loaded = time.process_time()
    rows = numpy.array(
        [first, *(numpy.array(started.call(x)) for x in given[1:])]
    )  # an engine may give the same memory again
    error, delay = error_of(rows, data[way])
    forever = (lambda x=x: started.call(x) for _ in range(1000) for x in given)
    times = timed(forever)
    return {
        "version": started.version,
        "form": form,
        "error": error,
        "delay_ms": 20 * delay,
        **percentiles(times),
        "calls": len(times),
        "memory_mb": resident() - before,
        "load_ms": 1e3 * (opened - begin),
        "first_ms": 1e3 * (loaded - ready),
        "model_bytes": started.model_bytes,
        "library_bytes": started.library_bytes,
    }


def main() -> None:
    what, *arguments, folder = sys.argv[1:]
    try:
        if what == "prepare":
            line = prepare(Path(folder))
        elif arguments[1] == "pipeline":
            import pipelines

            line = (pipelines.make if what == "make" else pipelines.measure)(arguments[0], Path(folder))
        elif what == "make":
            line = make(*arguments, Path(folder))
        else:
            line = measure_network(*arguments, Path(folder))
    except Exception as error:  # noqa: BLE001, whatever it raises is the reason
        line = {"failed": reason(error)}
    print(json.dumps(line), flush=True)
    os._exit(0)  # some engines crash when the process unloads them


if __name__ == "__main__":
    main()
