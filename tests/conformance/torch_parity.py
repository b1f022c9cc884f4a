#!/usr/bin/env python3
"""The compiled keyword model against its PyTorch module on every clip of a folder.

    torch_parity.py --longwave build/longwave --model examples/kws/model --clips DIR --python tools/python [--limit 1e-4]

Each clip (DIR/<label>/<file>) goes through the engine's stream from zero state and through the module as a whole; compared are the logits at the end of the
clip, relative to the largest logit, and the class. Prints one JSON object; exit 1 when a class differs or an error is over the limit.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def engine(options):
    """{path: (predicted label, logits)} from `longwave eval`."""
    with tempfile.TemporaryDirectory() as folder:
        artifact = pathlib.Path(folder) / "model.lw"
        subprocess.run(
            [options.longwave, "compile", options.model, "-o", artifact, "--target", "host", "--stream"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        result = subprocess.run(
            [options.longwave, "eval", artifact, "--clips", options.clips, "--isolated", "--predictions"],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    report = json.loads(result.stdout)
    return (
        report["labels"],
        {path: (p["predicted"], p["outputs"]) for path, p in report["predictions"].items()},
        report["accuracy"],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longwave", required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--clips", type=pathlib.Path, required=True)
    parser.add_argument("--python", type=pathlib.Path, required=True)
    parser.add_argument("--limit", type=float, default=1e-4)
    options = parser.parse_args()

    sys.path.insert(0, str(options.python))
    import numpy as np
    import torch
    from longwave.kws import audio
    from longwave.kws.losses import READ
    from longwave.kws.model import KwsConfig, KwsNet
    from safetensors.torch import load_file

    net = KwsNet(KwsConfig())
    missing, _ = net.load_state_dict(load_file(options.model / "weights.safetensors"), strict=False)
    missing = [key for key in missing if not key.endswith("num_batches_tracked") and not key.startswith("auxiliary")]
    if missing:
        print(f"error: the package has no {', '.join(missing)}", file=sys.stderr)
        return 3
    net.eval()

    labels, found, accuracy = engine(options)
    worst, differing, right = 0.0, [], 0
    with torch.no_grad():
        for path, (predicted, outputs) in sorted(found.items()):
            samples = audio.read(path)[:16000]
            samples = np.pad(samples, (0, 16000 - len(samples)))
            logits = net.from_samples(torch.from_numpy(samples)[None])
            row = logits.reshape(-1, logits.shape[-1])[-READ:, : len(labels)].mean(0).numpy()
            worst = max(worst, float(np.abs(row - np.array(outputs)).max() / np.abs(row).max()))
            right += labels[int(row.argmax())] == pathlib.Path(path).parent.name
            if labels[int(row.argmax())] != predicted:
                differing.append(path)
    result = {
        "clips": len(found),
        "largest_error": worst,
        "limit": options.limit,
        "different_classes": differing,
        "accuracy_engine": accuracy,
        "accuracy_torch": right / len(found),
    }
    print(json.dumps(result))
    return 1 if differing or not worst <= options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
