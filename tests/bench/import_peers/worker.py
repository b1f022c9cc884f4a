"""worker.py PEER MODEL FOLDER SECONDS: one peer with one model, in this process. The last line it prints is a JSON object.

After so many seconds of CPU time the process ends with SIGXCPU.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy  # noqa: E402
import torch  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
import engines  # noqa: E402
from models import MODELS, made, wanted  # noqa: E402

SECONDS, LEAST, MOST = 3.0, 3, 1000  # of measuring a call; calls
SHORT = 0.004  # seconds


def by_clock(call: Any) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def milliseconds(call: Any) -> float:
    """Median of the CPU's time, which other work on the machine does not stretch. Calls below SHORT are timed by the clock:
    they seldom meet other work, and CPU time is counted in steps. The first call warms the caches."""
    call()
    now = time.perf_counter if min(by_clock(call) for _ in range(5)) < SHORT else time.process_time
    times, end = [], time.perf_counter() + SECONDS
    while len(times) < LEAST or (len(times) < MOST and time.perf_counter() < end):
        begin = now()
        call()
        times.append(1e3 * (now() - begin))
    return statistics.median(times)


def result(peer: str, name: str, folder: Path) -> dict[str, Any]:
    model, module = MODELS[name], made(name)
    exact = wanted(name, module).numpy()
    x = model.example().numpy()
    engine = engines.MAKERS[peer](module, model, folder)
    found = numpy.asarray(engine.call(x))
    rows = exact[0]
    if not numpy.isfinite(found).all():
        raise RuntimeError(f"{numpy.count_nonzero(~numpy.isfinite(found))} of {found.size} numbers are not finite")
    if found.size != rows.size:
        raise RuntimeError(f"{found.size} numbers, expected {rows.size}")
    if peer == "longwave" and rows.ndim == 2 and model.time() == 2 and rows.shape[1] == model.rows:
        rows = rows.T  # rows of features in both
    error = float(numpy.abs(found.reshape(rows.shape) - rows).max() / numpy.abs(rows).max())
    line = {
        "largest_error": error,
        "version": engine.version,
        "model_bytes": engine.model_bytes,
        "runtime_bytes": engine.runtime_bytes,
        "second_ms": engine.call_ms or milliseconds(lambda: engine.call(x)),
        "block_ms": engine.block_ms,
    }
    if engine.block:
        part = numpy.ascontiguousarray(numpy.take(x, range(model.block), model.time()))
        line["block_ms"] = milliseconds(lambda: engine.block(part))
    return line | {key: value for key, value in (("no_stream", engine.no_stream), ("note", engine.note)) if value}


def main() -> None:
    peer, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[4]), int(sys.argv[4]) + 5))
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    try:
        line = result(peer, name, folder)
    except Exception as error:  # noqa: BLE001, whatever it raises is the reason
        line = {"failed": engines.reason(error)}
    print(json.dumps(line), flush=True)
    os._exit(0)  # some engines crash when the process unloads them


if __name__ == "__main__":
    main()
