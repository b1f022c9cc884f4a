"""Imports PyTorch modules: `python -m longwave.importer --help`; from Python: longwave.importer.api (docs/import.md)."""
