#!/usr/bin/env python3
"""With --map the weights take no memory of the process: mapped_weights_test.py LONGWAVE SCRATCH_FOLDER

`longwave run` and `longwave run --stream` under a limit of the private memory (RLIMIT_DATA) that is below the weights. They
end with --map, with the numbers of a run without limit, and fail for want of memory without it. Pages of the mapped file do
not count: the system drops them when it needs the memory. Standard library only.
"""

import pathlib
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LAYERS, WIDTH = 4, 1536


def private_memory(limit):
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main():
    longwave, scratch = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="mapped-", dir=scratch) as name:
        folder = pathlib.Path(name)
        made = subprocess.run(
            [
                sys.executable,
                HERE / "large_package.py",
                folder,
                "--layers",
                str(LAYERS),
                "--width",
                str(WIDTH),
                "--kernel-dim",
                "8",
                "--scales",
                "2",
            ],
            stdout=subprocess.PIPE,
            check=True,
        )
        weights, model = int(made.stdout), folder / "model.lw"
        subprocess.run(
            [longwave, "compile", folder, "-o", model, "--target", "host", "--stream", "--length", "64", "--quiet"],
            check=True,
        )

        def run(*options, limit=None):
            return subprocess.run(
                [longwave, "run", model, "--input", f"x=16x{WIDTH}", "--json", *options],
                capture_output=True,
                preexec_fn=private_memory(limit) if limit else None,
            )

        limit, problems = weights * 3 // 4, []
        for options in ([], ["--stream"]):
            what, free = " ".join(["run", *options]), run(*options)
            mapped, copied = run(*options, "--map", limit=limit), run(*options, limit=limit)
            if free.returncode:
                problems.append(f"{what}: {free.stderr.decode()}")
            if mapped.returncode or mapped.stdout != free.stdout:
                problems.append(
                    f"{what} --map with {limit} bytes of private memory: {mapped.stderr.decode() or 'other numbers'}"
                )
            if copied.returncode == 0:
                problems.append(f"{what} without --map: {limit} bytes are enough, so the limit tests nothing")
    print(*problems, f"weights {weights / 1e6:.1f} MB, private memory limited to {limit / 1e6:.1f} MB", sep="\n")
    return len(problems) > 0


if __name__ == "__main__":
    sys.exit(main())
