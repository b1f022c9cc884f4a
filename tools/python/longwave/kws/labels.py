"""The twelve classes of Speech Commands (Warden 2018), in the order of the model's outputs."""

SAMPLE_RATE = 16000  # that of the front end (layers/frontend.py), without PyTorch
COMMANDS = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"]
SILENCE = 10
UNKNOWN = 11
CLASSES = COMMANDS + ["_silence_", "_unknown_"]
