"""What training multiplies in: bfloat16 where the CPU has it, else float32.

A CPU without AVX-512 BF16 or AMX computes bfloat16 in software: a matrix multiplication then takes 30 times as long as in
float32 (AMD EPYC, Zen 3).
"""

from __future__ import annotations

import torch


def has_bfloat16() -> bool:
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def fast_products() -> torch.autocast:
    """A context in which matrix multiplications are as fast as this CPU has them."""
    return torch.autocast("cpu", torch.bfloat16, enabled=has_bfloat16())
