"""Keyword spotting: data, features, training batches, losses, decision layer and evaluation."""
