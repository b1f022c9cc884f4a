#!/usr/bin/env python3
"""A benchmark at small sizes: it ends, prints its figures, and agrees with its peer. smoke_test.py BUILD NAME

A peer that is not installed is left out, with a line that says so. If nothing is left, the exit status is 77. Standard library only.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT, BUILD = pathlib.Path(__file__).resolve().parents[2], pathlib.Path(sys.argv[1]).resolve()
BENCH, LONGWAVE = ROOT / "tests/bench", BUILD / "longwave"
LIBRARIES = "torch", "numpy", "safetensors"


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def python(*modules):
    """An interpreter that has these."""
    beside = ROOT / ".venv-torch/bin/python"
    for one in filter(
        None, (os.environ.get("LONGWAVE_PYTHON"), str(beside) if beside.exists() else None, sys.executable)
    ):
        code = f"import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, {modules!r})))"
        if subprocess.run([one, "-c", code]).returncode == 0:
            return one
    skip(f"no Python with {', '.join(modules)} (LONGWAVE_PYTHON, .venv-torch)")


def run(*command, **environment):
    """Its JSON lines."""
    libraries = {"LD_LIBRARY_PATH": str(BUILD)}
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, **libraries, **environment},
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"{' '.join(map(str, command))}: printed no figures\n{done.stdout}{done.stderr}")
    return lines


def program(name):
    path = BUILD / f"bench_{name}"
    if not path.exists():
        skip(f"bench_{name} was not built: a library to compare with is missing")
    return path


def bench(name, *flags, **environment):
    return run(LONGWAVE, "bench", name, *flags, **environment)


def conv():
    program("conv")
    lines = bench("conv", "--lengths", "256", "--channels", 4, "--seconds", "0.1") + bench(
        "conv", "--lengths", 4096, "--channels", 1, "--taps", 64, "--seconds", "0.1"
    )
    return [line for line in lines if line["what"] == "conv"]


def everything():
    """The table that is measured soonest; a table that does not exist."""
    program("conv")
    wrong = subprocess.run([LONGWAVE, "bench", "all", "--only", "nothing"], capture_output=True, text=True)
    if wrong.returncode != 2 or "no table nothing" not in wrong.stderr:
        sys.exit(f"bench all --only nothing: exit status {wrong.returncode}\n{wrong.stderr}")
    rows = bench("all", "--only", "conv_64,conv_64_real", "--json")
    if len(rows) != 10:
        sys.exit(f"bench all: {len(rows)} rows of two tables of 5")
    return rows


def conv_gpu():
    program("conv_gpu")
    if not any(
        '"vulkan' in line
        for line in subprocess.run([LONGWAVE, "devices", "--json"], capture_output=True, text=True).stdout.splitlines()
    ):
        skip("no Vulkan device")
    return bench("conv", "--device", "vulkan", "--lengths", 64, "--channels", 16, "--batches", 1, "--repeats", 1)


def stream():
    program("stream")
    return bench("stream", "--channels", 2, "--blocks", 64, "--taps", 1024, "--seconds", "0.1")


def linear():
    small = "--sizes", "64x64", "--rows", "1,16", "--seconds", "0.01", "--weights", "bf16,int8,int4"
    peer = subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libopenblas.so.0')"], capture_output=True)
    if peer.returncode != 0:
        print("left out: OpenBLAS is not installed")
    return bench("linear", *small, "--against", "none" if peer.returncode else "openblas")


def attention():
    lines = []
    for core in ("lightnet", "chela", "softmax", "softmax-causal"):
        lines += run(BUILD / "bench_attention", "--core", core, "--sizes", "2x16,8x64", "--rows", 256, "--rounds", 1)
    return lines


def attention_speed():
    return run(
        python(*LIBRARIES),
        BENCH / "torch/attention_speed.py",
        "--bench",
        BUILD / "bench_attention",
        "--rows",
        256,
        "--rounds",
        1,
    )


def read():
    return run(BUILD / "bench_read", 1, "0.01")


def keyword_model(folder, *flags):
    out = pathlib.Path(folder) / "kws.lw"
    run(LONGWAVE, "compile", ROOT / "examples/kws/model", "-o", out, "--target", "host", "--stream", "--json", *flags)
    return out


def batch():
    """16 spotters of one model, together and alone. The text model takes longer to compile; runtime_batch_test has generators."""
    with tempfile.TemporaryDirectory() as folder:
        out, demo = keyword_model(folder, "--no-whole", "--streams", 16), ROOT / "examples/kws/demo.wav"
        lines = run(BUILD / "bench_batch", out, "--audio", demo, "--steps", 64, "--rounds", 8)
        return [line for line in lines if line["same"] and line["events"] > 0]


def planner():
    with tempfile.TemporaryDirectory() as folder:
        out = keyword_model(folder)
        return bench(out, "--planner", "--seconds", "0.1", "--json") + bench(
            out, "--seconds", "0.5", "--repeats", 1, "--json"
        )


def model():
    lines = bench("model", "--rounds", 1, "--json", LONGWAVE_PYTHON=python(*LIBRARIES))
    print("left out: ONNX Runtime and OpenVINO, which need packages of their own")
    return [line for line in lines if line["what"] == "model" and line["difference"] <= 1e-4]


def block():
    return bench(
        "block",
        "--lengths",
        256,
        "--batch",
        2,
        "--chunks",
        "1,2",
        "--rounds",
        1,
        "--threads",
        1,
        "--json",
        LONGWAVE_PYTHON=python(*LIBRARIES),
    )


def text():
    print("left out: llama.cpp, which needs packages of its own")
    return bench(
        "text", "--widths", 64, "--depth", 2, "--tokens", 8, "--rounds", 1, "--json", LONGWAVE_PYTHON=python(*LIBRARIES)
    )


def native():
    if not list((BUILD / "python/longwave").glob("_native*.so")):
        skip("the Python module was not built (-DLONGWAVE_PYTHON=ON)")
    return {"PYTHONPATH": str(BUILD / "python")}


def import_peers():
    print("left out: other importers, which need packages of their own")
    interpreter = python(*LIBRARIES)
    return run(
        interpreter,
        BENCH / "import_peers/run",
        "--longwave",
        LONGWAVE,
        "--only",
        "longwave",
        "--model",
        "chela-like",
        **native(),
    )


def amp():
    if not (clone := os.environ.get("NAM_CORE")):
        skip("NAM_CORE names no clone of https://github.com/sdatkinson/NeuralAmpModelerCore")
    if not shutil.which("g++") or not pathlib.Path("/usr/include/eigen3").is_dir():
        skip("g++ or Eigen is missing: apt install g++ libeigen3-dev")
    small = "--captures", "A2 lite", "--blocks", 64, "--targets", "x86-64-v3", "--rounds", 1
    return run(python(*LIBRARIES), BENCH / "amp/run", clone, "--longwave", LONGWAVE, *small, **native())


def keyword():
    print("left out: other engines, which need packages of their own")
    interpreter = python(*LIBRARIES, "soundfile")
    return run(
        interpreter,
        BENCH / "keyword/run",
        "--longwave",
        LONGWAVE,
        "--only",
        "longwave",
        "--way",
        "window",
        "--rounds",
        1,
        "--seconds",
        10,
        **native(),
    )


def pages():
    """What becomes of the figures: a page of all, and tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "devices.txt").write_text('{"device":"cpu"}\n')
        (folder / "conv.jsonl").write_text('{"what":"conv","length":256,"peer":"fftw","ratio":0.5}\n')
        (folder / "layers.jsonl").write_text(
            '{"what":"layers","model":"m","layers":[{"layer":"a","cpu_us":1,"gpu_us":2,"gpu_bytes":4000}]}\n'
        )
        (folder / "limits.jsonl").write_text('{"what":"gpu-copy","bytes":1024,"gb_per_s":8.0}\n')
        for command in (
            ["gpu_page.py", folder],
            ["plot.py", folder / "out", folder / "conv.jsonl", folder / "shares.jsonl"],
        ):
            done = subprocess.run([sys.executable, BENCH / command[0], *command[1:]], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{command[0]}: {done.stdout}{done.stderr}")
        share = json.loads((folder / "shares.jsonl").read_text())["share_of_copy"]
        table = (folder / "out/table.md").read_text()
        if abs(share - 0.25) > 1e-9 or "| 256 | fftw | 0.5 |" not in table:
            sys.exit(f"share {share}, table\n{table}")
        return [share]


def gpu_torch():
    """Without a GPU it says so, and that is all."""
    done = subprocess.run([sys.executable, BENCH / "gpu_torch.py", "64", "4", "1"], capture_output=True, text=True)
    if done.returncode != 0 or not (done.stdout or "note: PyTorch is left out" in done.stderr):
        sys.exit(f"gpu_torch.py: {done.stdout}{done.stderr}")
    return ["note"]


def xnnpack():
    needed = [name for name in ("aarch64-linux-gnu-gcc", "qemu-aarch64") if not shutil.which(name)]
    folder = os.environ.get("LONGWAVE_XNNPACK")
    if needed or not folder:
        skip(f"needs {', '.join(needed) or 'LONGWAVE_XNNPACK, the folder of tests/bench/xnnpack/count.py'}")
    done = subprocess.run([sys.executable, BENCH / "xnnpack/count.py", BUILD, folder], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"count.py: {done.stdout}{done.stderr}")
    return done.stdout.splitlines()


ALL = {
    function.__name__: function
    for function in (
        everything,
        conv,
        conv_gpu,
        stream,
        batch,
        linear,
        attention,
        attention_speed,
        read,
        planner,
        model,
        block,
        text,
        import_peers,
        keyword,
        amp,
        pages,
        gpu_torch,
        xnnpack,
    )
}

found = ALL[sys.argv[2]]()
if not found:
    sys.exit(f"{sys.argv[2]}: no figures")
print(f"{sys.argv[2]}: {len(found)} figures")
