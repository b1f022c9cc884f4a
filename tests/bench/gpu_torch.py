#!/usr/bin/env python3
"""PyTorch's way to the convolutions of bench_conv_gpu: a real FFT of 2 L points, a product and an inverse FFT.

    gpu_torch.py LENGTHS CHANNELS BATCHES      numbers with commas between

JSON lines as bench_conv_gpu prints them; without PyTorch or a GPU that it can use nothing, and a note says why. The spectra of the
kernels are computed before. Times are medians of 20, by the clock of the device.
"""

import json
import statistics
import sys


def times_of(torch, call, repeats=20):
    """Seconds of each call."""
    found = []
    for repeat in range(repeats + 3):  # the first ones warm
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        if repeat >= 3:
            found.append(1e-3 * begin.elapsed_time(end))
    return found


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.path.pop(0)  # the folder torch/ beside this file is not PyTorch
    try:
        import torch
    except ImportError:
        return print("note: PyTorch is left out: it is not installed", file=sys.stderr)
    if not torch.cuda.is_available():
        return print("note: PyTorch is left out: it finds no GPU", file=sys.stderr)
    lengths, channels, batches = ([int(number) for number in text.split(",")] for text in sys.argv[1:])
    for length in lengths:
        for width in channels:
            spectrum = torch.fft.rfft(torch.randn(width, length, device="cuda"), 2 * length)
            for batch in batches:
                u = torch.randn(batch, width, length, device="cuda")
                seconds = times_of(
                    torch, lambda: torch.fft.irfft(torch.fft.rfft(u, 2 * length) * spectrum, 2 * length)[..., :length]
                )
                median = statistics.median(seconds)
                print(
                    json.dumps(
                        {
                            "what": "conv-gpu",
                            "device": torch.cuda.get_device_name(),
                            "contestant": f"pytorch-{torch.__version__}",
                            "length": length,
                            "channels": width,
                            "batch": batch,
                            "us": 1e6 * median,
                            "us_least": 1e6 * min(seconds),
                            "us_most": 1e6 * max(seconds),
                            "gs_per_s": 1e-9 * u.numel() / median,
                        }
                    ),
                    flush=True,
                )
    return None


if __name__ == "__main__":
    main()
