"""Captures of Neural Amp Modeler: docs/nam.md."""
