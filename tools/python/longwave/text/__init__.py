"""Byte-level language models: the text and its split, training forms of both stacks, figures, export."""
