"""Confidence limits for the printed figures."""

from __future__ import annotations

import math

from scipy.stats import chi2


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a proportion (Wilson 1927), as fractions."""
    p = hits / total
    centre = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    return max(0.0, centre - half), min(1.0, centre + half)


def poisson_upper(count: int, confidence: float = 0.95) -> float:
    """Exact one-sided upper limit of the expected number after seeing `count`."""
    return float(chi2.ppf(confidence, 2 * (count + 1)) / 2)


def percent(hits: int, total: int) -> str:
    low, high = wilson(hits, total)
    return f"{100 * hits / total:.1f} % ({hits}/{total}, 95 % CI {100 * low:.1f}-{100 * high:.1f})"
