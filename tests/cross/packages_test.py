#!/usr/bin/env python3
"""The C library for other machines as Debian packages: built with Debian's own CMake and without Halide, unpacked into a folder, and found there by the
project of examples/cmake. Its program hears the words that this machine hears.

    packages_test.py BUILD [TARGET...]

The musl targets need Debian's musl and musl-dev of their machine. LONGWAVE_MUSL names a folder that these were unpacked into.
"""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/static"))
from static_program import RECORDING, needs, run, skip  # noqa: E402

# By target: the compiler's triple, Debian's name, and the emulator of programs.
TARGETS = {
    "arm64": ("aarch64-linux-gnu", "arm64", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]),
    "armv7": ("arm-linux-gnueabihf", "armhf", ["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"]),
    "arm64-musl": ("aarch64-linux-musl", "arm64", ["qemu-aarch64"]),
    "x86-64-musl": ("x86_64-linux-musl", "amd64", []),
}
GLIBC = (2, 34)  # the least version that the packages ask for
CMAKE = (
    "/usr/bin/cmake" if pathlib.Path("/usr/bin/cmake").exists() else "cmake"
)  # Debian's, which is older than the one that builds the compiler
CPACK = str(pathlib.Path(CMAKE).with_name("cpack")) if "/" in CMAKE else "cpack"


def missing(target):
    """Why a target cannot be tried here; empty: it can."""
    triple, _, emulator = TARGETS[target]
    if emulator and not shutil.which(emulator[0]):
        return f"needs {emulator[0]}"
    if target.endswith("-musl"):
        folder = pathlib.Path(os.environ.get("LONGWAVE_MUSL") or "/")
        if not (folder / f"usr/lib/{triple}/libc.a").exists() or not (folder / f"lib/{triple}/libc.so").exists():
            return f"needs musl and musl-dev of {triple.split('-')[0]}, installed or in LONGWAVE_MUSL"
        return "" if glob.glob("/usr/lib/llvm-*/include/c++/v1/version") else "needs libc++-14-dev"
    return "" if glob.glob(f"/usr/lib/gcc-cross/{triple}/*/libstdc++.a") else f"needs libstdc++-12-dev of {triple}"


def options(target):
    musl = os.environ.get("LONGWAVE_MUSL", "")
    return [
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/{target}.cmake",
        "-DCMAKE_BUILD_TYPE=Release",
        *([f"-DLONGWAVE_MUSL={musl}"] if musl else []),
    ]


def make_packages(build, target, root):
    """Builds the three packages and unpacks them into `root`."""
    folder = build / f"tests/packages-{target}"
    ccache = (
        ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    )
    run(CMAKE, "-S", ROOT, "-B", folder, "-G", "Ninja", *options(target), "-DLONGWAVE_RUNTIME_ONLY=ON", *ccache)
    run(CMAKE, "--build", folder)
    for package in folder.glob("*.deb"):
        package.unlink()
    run(CPACK, "-G", "DEB", cwd=folder)
    suffix = "-musl" if target.endswith("-musl") else ""
    names = {}
    for package in folder.glob("*.deb"):
        fields = dict(
            line.split(": ", 1)
            for line in run("dpkg-deb", "-f", package, "Package", "Architecture", "Depends").splitlines()
        )
        assert fields["Architecture"] == TARGETS[target][1], fields
        names[fields["Package"]] = fields.get("Depends", "")
        run("dpkg-deb", "-x", package, root)
    assert set(names) == {f"liblongwave0.2{suffix}", f"liblongwave-dev{suffix}", f"longwave-runner{suffix}"}, names
    assert names[f"liblongwave0.2{suffix}"] == ("musl" if suffix else f"libc6 (>= {GLIBC[0]}.{GLIBC[1]})"), names
    assert f"liblongwave0.2{suffix}" in names[f"liblongwave-dev{suffix}"], names
    return sum(package.stat().st_size for package in folder.glob("*.deb"))


def check_glibc(library):
    used = {
        tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", run("readelf", "-VW", library))
    }
    assert used and max(used) <= GLIBC, f"{library} uses glibc {max(used)}; the package asks for {GLIBC}"


def hear(program, model, sound, emulator=(), **environment):
    with open(sound, "rb") as samples:
        done = subprocess.run(
            [*emulator, program, model],
            stdin=samples,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(build, target, scratch, model, sound, expected):
    triple, _, emulator = TARGETS[target]
    root = scratch / f"root-{target}"
    root.mkdir()
    size = make_packages(build, target, root)
    library = root / f"usr/lib/{triple}"
    if not target.endswith("-musl"):
        check_glibc(library / "liblongwave.so.0.2")
    for kind in ("ON", "OFF"):
        project = scratch / f"project-{target}-{kind}"
        run(
            CMAKE,
            "-S",
            ROOT / "examples/cmake",
            "-B",
            project,
            "-G",
            "Ninja",
            *options(target),
            f"-Dlongwave_DIR={library}/cmake/longwave",
            f"-DSTATIC={kind}",
            *(
                ["-DCMAKE_EXE_LINKER_FLAGS=" + dynamic_musl(triple)]
                if target.endswith("-musl") and kind == "OFF"
                else []
            ),
        )
        run(CMAKE, "--build", project)
        here = hear(
            project / "keywords",
            model,
            sound,
            [*emulator, *loader(target, triple, library, kind)],
            LD_LIBRARY_PATH=str(library) if not emulator else "",
        )
        assert here == expected, (target, kind, here, expected)
    runner = subprocess.run([*emulator, root / "usr/bin/longwave-runner"], input=b"", capture_output=True)
    assert runner.returncode == 0, runner
    print(f"{target}: packages of {size} bytes; the words of this machine, with the shared and the static library")


def dynamic_musl(triple):
    """Programs of the toolchain file are static. This one takes its libraries when it starts."""
    folder = os.environ.get("LONGWAVE_MUSL", "")
    return f"-fuse-ld=lld -nostdlib {folder}/usr/lib/{triple}/crt1.o {folder}/usr/lib/{triple}/crti.o -L{folder}/lib/{triple} -Wl,-dynamic-linker,/lib/ld-musl.so.1"


def loader(target, triple, library, kind):
    """Words in front of a program that takes its libraries when it starts."""
    if kind == "ON":
        return []
    if target.endswith("-musl"):
        return [os.environ.get("LONGWAVE_MUSL", "") + f"/lib/{triple}/libc.so", "--library-path", str(library)]
    return ["-E", f"LD_LIBRARY_PATH={library}"]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    needs("clang", "ld.lld", "ninja", "cpack", "dpkg-deb", "flatc", "readelf")
    wanted = sys.argv[2:] or list(TARGETS)
    reasons = {target: missing(target) for target in wanted}
    if all(reasons.values()):
        skip("; ".join(f"{target} {reason}" for target, reason in reasons.items()))
    print(run(CMAKE, "--version").splitlines()[0])
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        model, sound, host = scratch / "kws.lw", scratch / "sound.raw", scratch / "keywords"
        run(
            build / "longwave",
            "compile",
            ROOT / "examples/kws/model",
            "-o",
            model,
            "--target",
            "host,arm64,armv7",
            "--stream",
            "--no-whole",
            "--no-check",
        )
        with wave.open(str(RECORDING)) as recording:
            sound.write_bytes(recording.readframes(8 * 16000))
        run(
            "cc",
            "-std=c99",
            "-I",
            ROOT / "runtime/include",
            ROOT / "examples/cmake/keywords.c",
            f"-Wl,-rpath,{build}",
            build / "liblongwave.so",
            "-o",
            host,
        )
        expected = hear(host, model, sound)
        assert expected.count("\n") >= 2, expected
        for target, reason in reasons.items():
            if reason:
                print(f"{target}: not tried, {reason}")
            else:
                check(build, target, scratch, model, sound, expected)


if __name__ == "__main__":
    sys.exit(main())
