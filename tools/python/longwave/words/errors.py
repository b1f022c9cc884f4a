"""What is wrong with the material, and what to do about it."""


class WordsError(Exception):
    """Printed without a traceback."""
