"""What a .nam file may ask for. A file from someone else must end in a model or in a message, soon and in little memory."""

from __future__ import annotations

VERSIONS = ((0, 5), (0, 7))  # of the format, oldest and newest
FILE = 1 << 25  # bytes
DIGITS = 32  # of a number without a fraction
DEPTH = 4  # models within each other
MODELS = 16  # of a container
ARRAYS = 16  # of layers, of one model
LAYERS = 256  # of one model
CHANNELS = 1024
TAPS = 1 << 16  # of one kernel
DILATION = 1 << 16
REACH = 1 << 18  # rows that a model remembers
WEIGHTS = 1 << 20  # of one model
RATES = (1000, 768_000)  # samples per second
WORK = 1 << 37  # multiply-adds of a run at the example's length, zeros between taps counted
