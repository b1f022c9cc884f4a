"""GConv and its residual stack against reference tensors (float64, computed from the official code's weights).

    python tests/test_sgconv_oracles.py ORACLE_FOLDER      or set LONGWAVE_ORACLES and run pytest
"""
from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.layers import heads  # noqa: E402
from longwave.layers.backbone import SgconvBackbone  # noqa: E402
from longwave.layers.sgconv import GConv  # noqa: E402

LIMIT = 1e-6  # largest difference relative to the peak of the reference


def oracle_folder() -> Path | None:
    given = sys.argv[1] if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else os.environ.get("LONGWAVE_ORACLES")
    return Path(given) if given else None


def load(folder: Path, case: str) -> tuple[dict, dict[str, torch.Tensor]]:
    tensors = {k: v.double() for k, v in load_file(folder / f"{case}.safetensors").items()}
    return json.loads((folder / f"{case}.json").read_text())["config"], tensors


def weights(tensors: dict[str, torch.Tensor], prefix: str = "w.") -> dict[str, torch.Tensor]:
    return {k[len(prefix):]: v for k, v in tensors.items() if k.startswith(prefix)}


def difference(found: torch.Tensor, wanted: torch.Tensor) -> float:
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return ((found - wanted).abs().max() / wanted.abs().max()).item()


def layer_options(config: dict) -> dict:
    names = ("l_max", "kernel_dim", "n_scales", "channels", "bidirectional", "mode", "init_scale", "decay_min", "decay_max",
             "postact", "linear", "ln")
    return {name: config[name] for name in names if name in config}


@torch.no_grad()
def operator_error(folder: Path, case: str) -> float:
    config, tensors = load(folder, case)
    layer = GConv(config["d_model"], transposed=config["transposed"], **layer_options(config)).double()
    layer.load_state_dict(weights(tensors))
    errors = [difference(layer(tensors["in.x"]), tensors["ref.y"])]
    if "ref.k" in tensors:
        k = layer.kernel(config["L"])
        wanted = tensors["ref.k"]
        errors.append(difference(k, wanted[..., :k.shape[-1]]))
    return max(errors)


@torch.no_grad()
def model_error(folder: Path, case: str) -> float:
    config, tensors = load(folder, case)
    kind = {"batch": "batch", "layer": "transposed_layer" if config["transposed"] else "layer"}[config["norm"]]
    stack = SgconvBackbone(config["d_model"], config["n_layers"], kind, config["prenorm"],
                           **layer_options(config["layer"])).double().eval()
    state = weights(tensors, "w.model.")
    stack.load_state_dict(state, strict=False)
    encoder, decoder = weights(tensors, "w.encoder.0."), weights(tensors, "w.decoder.0.output_transform.")
    if "in.ids" in tensors:
        x = encoder["weight"][tensors["in.ids"].long()]
    else:
        x = tensors["in.x"] @ encoder["weight"].t() + encoder["bias"]
    hidden = stack(x)
    errors = [difference(hidden, tensors["ref.h"])]
    how = config["decoder"]
    if how["kind"] == "nli":
        pooled = heads.mean(hidden, tensors.get("in.lengths"))
        pairs = heads.pair_features(*pooled.chunk(2))
        head = weights(tensors, "w.decoder.0.retrieval.classifier.")
        y = torch.nn.functional.gelu(pairs @ head["0.weight"].t() + head["0.bias"]) @ head["2.weight"].t() + head["2.bias"]
    else:
        if how["mode"] == "pool":
            hidden = heads.mean(hidden, tensors.get("in.lengths"))
        elif how.get("l_output", 0) is not None:
            hidden = heads.last(hidden)
        y = hidden @ decoder["weight"].t() + decoder["bias"]
    errors.append(difference(y, tensors["ref.y"]))
    return max(errors)


def check(folder: Path) -> None:
    for pattern, error in (("sgconv_op_*.json", operator_error), ("sgconv_model_*.json", model_error)):
        for file in sorted(folder.glob(pattern)):
            value = error(folder, file.stem)
            print(f"{file.stem:55s} {value:.1e}")
            assert value < LIMIT, file.stem


def test_oracles() -> None:
    folder = oracle_folder()
    if folder is None:
        print("no oracle folder given: skipped")
        return
    check(folder)


if __name__ == "__main__":
    test_oracles()
