"""Modules that take and return their state, as modules of whole sequences."""
