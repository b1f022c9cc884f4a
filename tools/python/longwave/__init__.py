"""Python side of Longwave: PyTorch layers that mirror the engine, training, and the model-package exporter."""
