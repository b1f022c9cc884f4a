"""What the tests of the microphone share: devices that ALSA makes from plug-ins, and keyword models to listen with."""

import array
import os
import pathlib
import subprocess
import sys
import wave

LONGWAVE, SCRATCH = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples/kws/demo.wav"
PLUGIN = SCRATCH / "longwave_scripted_capture.so"


def require_alsa():
    if not PLUGIN.exists():
        print("SKIPPED: this build has no ALSA; install libasound2-dev")
        sys.exit(77)


def demo_samples():
    with wave.open(str(DEMO)) as file:
        return array.array("h", file.readframes(file.getnframes()))


def compile_keywords(folder):
    model = folder / "kws.lw"
    subprocess.run(
        [LONGWAVE, "compile", ROOT / "examples/kws/model", "-o", model, "--target", "host", "--stream", "--no-check"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return model


def configuration(folder, devices):
    """The environment in which ALSA has these devices: {name: text} and the one that converts, plug."""
    file = folder / "alsa.conf"
    file.write_text(
        f'pcm_type.scripted {{ lib "{PLUGIN}" }}\n'
        "pcm.plug { @args [ SLAVE ] @args.SLAVE { type string } type plug slave.pcm $SLAVE }\n"
        + "".join(f"pcm.{name} {{ {text} }}\n" for name, text in devices.items())
    )
    return {**os.environ, "ALSA_CONFIG_PATH": str(file)}
