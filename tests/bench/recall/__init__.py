"""Associative recall, the task that Orchid is shown on (Karami and Ghodsi 2024, §4.1): the value of a key that was seen."""
