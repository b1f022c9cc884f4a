"""ONNX files as modules that the importer takes: docs/onnx.md. Needs the `onnx` package."""
