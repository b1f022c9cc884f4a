#!/usr/bin/env python3
"""Draws docs/charts/denoise.png: docs/charts/spectrogram.py LONGWAVE DTLN.lw

Speech of examples/kws/demo.wav in noise that is computed here, before and after `longwave denoise`. DTLN.lw comes from
`longwave import dtln -o DTLN.lw`, with the package that you have installed. Needs numpy and matplotlib, which brings Pillow.
"""

import io
import pathlib
import subprocess
import sys
import tempfile
import wave

import matplotlib
import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATE, FROM, SECONDS = 16000, 1.0, 6.0
WINDOW, HOP = 512, 256
COLOURS = 48
FLOOR = -70  # dB of the loudest bin


def read(path):
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2), path
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768


def write(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setframerate(RATE)
        file.setnchannels(1)
        file.setsampwidth(2)
        file.writeframes((samples * 32767).clip(-32768, 32767).astype("<i2").tobytes())


def noise(count):
    """A fan: noise that falls with the frequency and swells slowly, and a hum."""
    random, t = np.random.default_rng(3), np.arange(count) / RATE
    spectrum = np.fft.rfft(random.standard_normal(count))
    spectrum /= 1 + np.arange(len(spectrum)) * (RATE / count) / 400
    hiss = np.fft.irfft(spectrum, count)
    hum = sum(np.sin(2 * np.pi * 120 * k * t) / k for k in range(1, 6))
    return 0.03 * hiss / hiss.std() * (1 + 0.4 * np.sin(2 * np.pi * 0.3 * t)) + 0.006 * hum


def decibels(samples):
    frames = np.lib.stride_tricks.sliding_window_view(samples, WINDOW)[::HOP] * np.hanning(WINDOW)
    return 20 * np.log10(np.abs(np.fft.rfft(frames)).T + 1e-9)


def main():
    longwave, model = sys.argv[1:3]
    speech = read(ROOT / "examples/kws/demo.wav")
    noisy = speech + noise(len(speech))
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder, "noisy.wav"), pathlib.Path(folder, "clean.wav")
        write(before, noisy)
        subprocess.run([longwave, "denoise", model, before, after, "--output-format", "wav16"], check=True)
        sounds = [read(before), read(after)]
    part = slice(int(FROM * RATE), int((FROM + SECONDS) * RATE))
    pictures = [decibels(sound[part]) for sound in sounds]
    loudest = max(picture.max() for picture in pictures)
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 1, figsize=(9, 5), sharex=True, layout="constrained")
    for axis, picture, name in zip(axes, pictures, ("noisy.wav", "clean.wav")):
        image = axis.imshow(
            picture - loudest,
            origin="lower",
            aspect="auto",
            cmap="magma",
            vmin=FLOOR,
            vmax=0,
            extent=(0, SECONDS, 0, RATE / 2000),
        )
        axis.set(ylabel="kHz")
        axis.set_title(name, loc="left", fontsize=10)
    axes[-1].set(xlabel="seconds")
    figure.colorbar(image, ax=axes, label="dB")
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=80)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(ROOT / "docs/charts/denoise.png", optimize=True)


if __name__ == "__main__":
    main()
