#!/usr/bin/env python3
"""The lines of `longwave-oracles --json`: a case that streams, one that cannot, one with a reference that was changed, one of an unknown operator and one that
is no JSON. json_test.py LONGWAVE_ORACLES FIXTURES FOLDER
"""

import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

STREAMS, WHOLE = "sgconv_op_causal_KeqL_64", "sgconv_op_learnablefixed_bidir_1024"


def run(program, folder, *options):
    done = subprocess.run([program, folder, *options], capture_output=True, text=True)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def change_reference(path, tensor):
    """Doubles the first number of a float32 tensor: far outside every limit where it is not small."""
    data = bytearray(path.read_bytes())
    size = struct.unpack_from("<Q", data)[0]
    entry = json.loads(data[8 : 8 + size])[tensor]
    assert entry["dtype"] == "F32", entry
    begin, end = (8 + size + offset for offset in entry["data_offsets"])
    values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    largest = max(range(len(values)), key=lambda i: abs(values[i]))
    struct.pack_into("<f", data, begin + 4 * largest, 2 * values[largest])
    path.write_bytes(data)


def check_passed(line, name, kind):
    assert list(line) == ["name", "kind", "passed", "references", "blocks"], line
    assert (line["name"], line["kind"], line["passed"]) == (name, kind, True), line
    for reference in line["references"]:
        assert list(reference) == ["name", "entry", "error", "limit", "passed"], reference
        assert 0 <= reference["error"] <= reference["limit"] < 1e-4 and reference["passed"] is True, reference


def main():
    program, fixtures, scratch = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = pathlib.Path(name)

        def take(case, to):
            for ending in (".json", ".safetensors"):
                shutil.copyfile(fixtures / (case + ending), folder / (to + ending))

        take(STREAMS, "a_streams")
        take(WHOLE, "b_whole")
        take(STREAMS, "c_changed")
        change_reference(folder / "c_changed.safetensors", "ref.y")
        take(STREAMS, "d_unknown")
        description = json.loads((folder / "d_unknown.json").read_text())
        (folder / "d_unknown.json").write_text(json.dumps({**description, "operator": "mamba.layer"}))
        take(STREAMS, "e_broken")
        (folder / "e_broken.json").write_text("{")

        blocks = ("--blocks", "1,16")
        done, lines = run(program, folder, "--json", *blocks)
        assert done.returncode == 1, done.stderr
        assert done.stderr.splitlines()[-1] == "2 passed, 3 failed", done.stderr
        assert len(lines) == 5, done.stdout
        streams, whole, changed, unknown, broken = lines

        check_passed(streams, "a_streams", "sgconv.gconv")
        assert streams["blocks"] == [1, 16], streams
        assert [r["entry"] for r in streams["references"] if r["name"] == "y"] == [
            "run",
            "stream 1",
            "stream 16",
            "stream all",
        ], streams
        check_passed(whole, "b_whole", "sgconv.gconv")
        assert whole["blocks"] == [] and {r["entry"] for r in whole["references"]} == {"run"}, whole

        assert changed["passed"] is False and "failure" not in changed, changed
        wrong = [r for r in changed["references"] if not r["passed"]]
        assert wrong and all(r["name"] == "y" and math.isclose(r["error"], 0.5, rel_tol=1e-3) for r in wrong), changed
        for line, kind, words in ((unknown, "mamba.layer", "mamba.layer"), (broken, "", "expected a JSON object")):
            assert line["passed"] is False and line["kind"] == kind and line["references"] == [], line
            assert words in line["failure"] and "\n" not in line["failure"], line

        done, lines = run(program, folder, "b_whole", "--json", *blocks)
        assert done.returncode == 0 and len(lines) == 1 and done.stderr.splitlines()[-1] == "1 passed, 0 failed", done
    print("five cases, five lines: what passed, what did not, and why")
    return 0


if __name__ == "__main__":
    sys.exit(main())
