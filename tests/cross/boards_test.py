#!/usr/bin/env python3
"""examples/boards: what these build for, and what runs of it here.

    boards_test.py BUILD

- raspberry-pi: built for this machine and for arm64, with a recording as its microphone. The arm64 program needs Debian's libasound2 and libasound2-dev
  of arm64; LONGWAVE_ARM64 names a folder that these were unpacked into.
- firmware: a Cortex-M55 in qemu. Flash or memory that is too small is one line of the linker, and no program.
- android: the library without an operating system, compiled for Android's triple; with an NDK in ANDROID_NDK the whole library.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOARDS = ROOT / "examples/boards"
sys.path.insert(0, str(ROOT / "tests/static"))
from static_cross_test import runtime_of  # noqa: E402
from static_m55_test import has_newlib  # noqa: E402
from static_program import cut_recording, has_clang, run, skip  # noqa: E402

SECONDS = 5
ARM64 = pathlib.Path(os.environ.get("LONGWAVE_ARM64") or "/") / "usr/lib/aarch64-linux-gnu"


def raw_samples(folder, sound):
    with wave.open(str(sound)) as recording:
        (folder / "sound.raw").write_bytes(recording.readframes(recording.getnframes()))


def words_of(text, pattern, percent=100):
    return [(word, round(float(score) * percent)) for word, score in re.findall(pattern, text, re.M)]


SEGMENT = r"^([\d.]+) s to ([\d.]+) s$"


def segments_of(text):
    return [tuple(map(float, pair)) for pair in re.findall(SEGMENT, text, re.M)]


def check_microphone(
    folder, program, model, expected, emulator=(), found_in=lambda line: words_of(line, r"^[\d.]+ s  (\S+)  ([\d.]+)$")
):
    """The device gives the recording again and again, so the program is ended at the first word or segment that comes twice."""
    configuration = folder / "alsa.conf"
    configuration.write_text(
        f'pcm.mic {{ type file file "/dev/null" infile "{folder}/sound.raw" format raw slave.pcm {{ type null }} }}\n'
    )
    heard = []
    with subprocess.Popen(
        [*emulator, program, model, "mic"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "ALSA_CONFIG_PATH": str(configuration)},
    ) as process:
        for line in process.stdout:
            heard += found_in(line)
            if len(heard) == len(expected):
                break
        process.kill()
    assert heard == expected, (heard, expected)


def check_raspberry_pi(build, folder, model, expected, speech, segments):
    make = [
        "make",
        "-s",
        "-B",
        "-C",
        BOARDS / "raspberry-pi",
        f"OUT={folder}",
        f"INCLUDE={ROOT}/runtime/include",
        "CFLAGS=-Werror",
    ]
    run(*make, f"LIB={build}")
    check_microphone(folder, folder / "listen", model, expected)
    check_microphone(folder, folder / "speech", speech, segments, found_in=segments_of)
    print(
        "raspberry-pi: built for this machine, the words and the segments of speech of the recording from a device of ALSA"
    )
    if (
        not (ARM64 / "libasound.so").exists()
        or not shutil.which("aarch64-linux-gnu-gcc")
        or not shutil.which("qemu-aarch64")
    ):
        return "raspberry-pi for arm64: needs libasound2-dev of arm64 (LONGWAVE_ARM64), gcc-aarch64-linux-gnu and qemu-user"
    runtime = build / "tests/runner-arm64"
    run(
        "cmake",
        "-S",
        ROOT,
        "-B",
        runtime,
        "-G",
        "Ninja",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/arm64.cmake",
        "-DLONGWAVE_RUNTIME_ONLY=ON",
        *(["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []),
    )
    run("cmake", "--build", runtime, "--target", "longwave_static")
    # ALSA's headers are the same for every machine.
    headers = folder / "headers"
    headers.mkdir()
    (headers / "alsa").symlink_to("/usr/include/alsa")
    run(*make, f"LIB={runtime}", "CC=aarch64-linux-gnu-gcc", f"ALSA={ARM64}", f"CFLAGS=-Werror -I{headers}")
    emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={ARM64}"]
    check_microphone(folder, folder / "listen", model, expected, emulator)
    check_microphone(folder, folder / "speech", speech, segments, emulator, segments_of)
    print("raspberry-pi: built for arm64, the same words and segments in qemu")
    return ""


def check_firmware(build, folder, expected, segments):
    if (
        not has_clang()
        or not shutil.which("arm-none-eabi-gcc")
        or not has_newlib()
        or not shutil.which("qemu-system-arm")
    ):
        return "firmware: needs clang-19, gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm"
    run(
        build / "longwave",
        "compile",
        ROOT / "examples/kws/model",
        "--emit",
        "static",
        "--target",
        "cortex-m55",
        "--stream",
        "--no-whole",
        "-o",
        folder / "kws12.a",
    )
    make = [
        "make",
        "-s",
        "-B",
        "-C",
        BOARDS / "firmware",
        f"OUT={folder}",
        f"RUNTIME={runtime_of(build, 'cortex-m55')}",
        f"AUDIO={folder}/{SECONDS}.wav",
        "CFLAGS=-Werror",
    ]
    for number, words in (
        ("FLASH_BYTES=0x80000", "the flash is too small for the program"),
        ("RAM_BYTES=0x10000", "the memory is too small for the program"),
    ):
        done = subprocess.run([*make, number], capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if "too small" in line]
        assert done.returncode != 0 and len(said) == 1 and words in said[0], done.stderr
        assert not (folder / "firmware.elf").exists()
    done = subprocess.run([*make, "CPU=cortex-m4"], capture_output=True, text=True)
    assert (
        done.returncode != 0
        and "CPU=cortex-m4 has no Helium vectors" in done.stderr
        and not (folder / "firmware.elf").exists()
    ), done.stderr
    run(*make)
    heard = words_of(
        run("make", "-s", "-C", BOARDS / "firmware", f"OUT={folder}", "run"), r"^\d+ ms  (\S+)  (\d+) %$", 1
    )
    assert heard == expected, (heard, expected)
    run(
        build / "longwave",
        "compile",
        ROOT / "examples/vad/energy",
        "--emit",
        "static",
        "--target",
        "cortex-m55",
        "--stream",
        "--no-whole",
        "-o",
        folder / "speech.a",
    )
    run(*make, "speech")
    found = run("make", "-s", "-C", BOARDS / "firmware", f"OUT={folder}", "run-speech")
    assert [(int(a), int(b)) for a, b in re.findall(r"^(\d+) ms to (\d+) ms$", found, re.M)] == [
        (int(a * 1000 + 1e-6), int(b * 1000 + 1e-6)) for a, b in segments
    ], (found, segments)
    print(
        "firmware: the words and the segments of speech of the recording on a Cortex-M55 in qemu, samples from an interrupt; a Cortex-M4 and too little flash or memory are refused"
    )
    return ""


def check_android(build):
    folder, whole = build / "tests/android", bool(os.environ.get("ANDROID_NDK"))
    if not shutil.which("clang") or not pathlib.Path("/usr/aarch64-linux-gnu/include/c++/12").exists() and not whole:
        return "android: needs clang and libstdc++-12-dev-arm64-cross, or an NDK in ANDROID_NDK"
    run(
        "cmake",
        "-S",
        ROOT,
        "-B",
        folder,
        "-G",
        "Ninja",
        f"-DCMAKE_TOOLCHAIN_FILE={BOARDS}/android/arm64.cmake",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DLONGWAVE_RUNTIME_ONLY=ON",
        f"-DLONGWAVE_FREESTANDING={'OFF' if whole else 'ON'}",
        *(["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []),
    )
    run("cmake", "--build", folder)
    print(
        "android:",
        "the library, with the NDK"
        if whole
        else "the library without an operating system is compiled; nothing is linked, for there is no NDK",
    )
    return ""


def main():
    build, left_out = pathlib.Path(sys.argv[1]).resolve(), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        raw_samples(folder, cut_recording(folder, SECONDS))
        model = folder / "kws.lw"
        run(
            build / "longwave",
            "compile",
            ROOT / "examples/kws/model",
            "-o",
            model,
            "--target",
            "host,arm64",
            "--stream",
            "--no-whole",
            "--no-check",
        )
        spot = folder / "spot"
        run(
            "cc",
            "-std=c11",
            "-I",
            ROOT / "runtime/include",
            ROOT / "examples/c/spot.c",
            f"-Wl,-rpath,{build}",
            build / "liblongwave.so",
            "-o",
            spot,
        )
        expected = words_of(run(spot, model, folder / f"{SECONDS}.wav"), r"^(\S+)  ([\d.]+)  at")
        assert len(expected) >= 2, expected
        speech, vad = folder / "vad.lw", folder / "vad"
        run(
            build / "longwave",
            "compile",
            ROOT / "examples/vad/energy",
            "-o",
            speech,
            "--target",
            "host,arm64",
            "--stream",
            "--no-whole",
            "--no-check",
        )
        run(
            "cc",
            "-std=c11",
            "-I",
            ROOT / "runtime/include",
            ROOT / "examples/c/vad.c",
            f"-Wl,-rpath,{build}",
            build / "liblongwave.so",
            "-o",
            vad,
        )
        segments = segments_of(run(vad, speech, folder / f"{SECONDS}.wav"))
        assert len(segments) >= 3, segments
        if subprocess.run(["pkg-config", "--exists", "alsa"]).returncode == 0:
            left_out.append(
                check_raspberry_pi(build, folder, model, expected, speech, segments[:-1])
            )  # the last one lasts until the end of the file
        else:
            left_out.append("raspberry-pi: needs libasound2-dev")
        left_out += [check_firmware(build, folder, expected, segments), check_android(build)]
    left_out = [reason for reason in left_out if reason]
    if left_out:
        skip("; ".join(left_out) + "; all else passed")


if __name__ == "__main__":
    sys.exit(main())
