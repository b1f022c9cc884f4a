"""The published configurations: their counts, and small models of each family written, and compiled where the
engine is built."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools/python"))
from zoo.command import main  # noqa: E402
from zoo.configurations import ROWS, find, fits, known_count  # noqa: E402
from zoo.families import build, write  # noqa: E402
from zoo.small import LONGWAVE, SMALL, read  # noqa: E402


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_the_known_count_or_says_why_not(row) -> None:
    parameters = build(row).tensors.parameters
    assert fits(row, parameters), f"{parameters} parameters, known: {row.recount or row.paper}"
    assert row.recount or row.paper or row.why


def test_known_counts_are_read_with_the_precision_they_have() -> None:
    assert known_count("4.35 M") == pytest.approx((4.35e6, 5e3))
    assert known_count("836 490") == (836490.0, 0.5)
    assert not fits(find("sgconv-image"), 4_349_961) and not fits(find("orchid-bert-large"), 253_740_000)


def test_counts_of_chela_follow_from_its_equations() -> None:
    """Eq. 8-15, norms and short branches, for the rows whose paper prints none."""
    for name in ("chela-listops", "chela-image", "chela-pathx"):
        row = find(name)
        d, ffn, depth, kernel_dim = (row.options[key] for key in ("width", "ffn_width", "depth", "kernel_dim"))
        scales = 1 + int(np.ceil(np.log2(row.length / kernel_dim)))
        norms, shorts, longs = 4 * d, (3 + 2 * int(np.log10(row.length)) + 1) * d, 2 * d * kernel_dim * scales
        block = norms + shorts + longs + 4 * d + 3 * (d * d + d) + 2 * d * ffn + ffn + d
        embedding = row.options["vocabulary"] * d if "vocabulary" in row.options else 2 * d
        head = d * row.options["classes"] + row.options["classes"] + (2 * d if row.options.get("prenorm", True) else 0)
        assert build(row).tensors.parameters == depth * block + embedding + head, name


def test_the_hosts_of_the_hybrids_have_their_own_counts_where_every_layer_is_attention() -> None:
    """BERT-base with its masked-word head as in its published checkpoint; Transformer-XL from its published code:
    tables, projections of narrow clusters, two biases of positions, and a layer of five square products, an MLP and
    two norms."""
    assert build(find("sgconv-bert"), pattern="A" * 12).tensors.parameters == 109_514_298
    for name, depth in (("sgconv-wikitext16", 16), ("sgconv-wikitext18", 18)):
        options = find(name).options
        d, ffn, factor = options["width"], options["hidden"], options["factor"]
        edges = [0, *options["cutoffs"], options["vocabulary"]]
        ranks = [d // factor**i for i in range(4)]
        tables = sum((end - first) * rank for first, end, rank in zip(edges, edges[1:], ranks))
        projections = d * d + d * sum(ranks) if factor > 1 else 0
        head = options["vocabulary"] + 3 * (d + 1)
        layer = 5 * d * d + 2 * d * ffn + ffn + d + 4 * d
        count = build(find(name), pattern="A" * depth).tensors.parameters
        assert count == tables + projections + head + 2 * d + depth * layer, name


@pytest.mark.parametrize("name", SMALL)
def test_a_small_model_of_each_host_is_written_whole(name, tmp_path) -> None:
    model = build(find(name), **SMALL[name])
    write(model, name, tmp_path, model.tensors.random(seed=1))
    document, weights = read(tmp_path)
    assert document["name"] == name and {key: value.shape for key, value in weights.items()} == {
        key: t.shape for key, t in model.tensors.items()
    }
    again = dict(model.tensors.random(seed=1))
    assert all(np.array_equal(weights[key], again[key]) for key in weights)
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize("name", SMALL)
def test_a_small_model_of_each_host_gives_in_the_engine_what_it_gives_in_pytorch(name, tmp_path) -> None:
    torch = pytest.importorskip("torch")
    from zoo.engine import Engine, made_up
    from zoo.fast import fastest
    from zoo.peers import peer

    if not LONGWAVE.exists():
        pytest.skip(f"needs {LONGWAVE}")
    row, length = find(name), SMALL[name].get("length", 64)
    model, engine = build(row, **SMALL[name]), Engine(LONGWAVE)
    write(model, name, tmp_path / "model", model.tensors.random(seed=1))
    compiled = engine.compile(tmp_path / "model", tmp_path / "small.lw", length, model.streams)
    assert compiled.stream_proved == model.streams
    inputs = made_up(model, length, seed=3)
    found = engine.run(tmp_path / "small.lw", model, inputs, tmp_path)
    net = peer(
        row, {key: torch.from_numpy(values) for key, values in read(tmp_path / "model")[1].items()}, **SMALL[name]
    )
    with torch.inference_mode():
        given = [torch.from_numpy(x)[None] for x in inputs.values()]
        wanted = net.double()(*(x if x.dtype == torch.int64 else x.double() for x in given))[0].numpy()
        assert np.abs(found.reshape(wanted.shape) - wanted).max() <= 3e-6 * np.abs(wanted).max()
        quick = fastest(net.float(), length)(*given)[0].double().numpy()
        assert np.abs(quick - wanted).max() <= 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("weights", ["float32", "bf16", "int8"])
def test_a_tied_table_is_stored_once_and_large_models_come_module_by_module(weights, tmp_path) -> None:
    """A language model that is mostly its table: the file has the table's bytes once, in the format of the head,
    and gives what PyTorch gives of the rounded weights, which it reads one module at a time."""
    torch = pytest.importorskip("torch")
    from zoo.engine import Engine, made_up
    from zoo.exact import ROUNDINGS
    from zoo.on_demand import on_demand

    if not LONGWAVE.exists():
        pytest.skip(f"needs {LONGWAVE}")
    changes = SMALL["lightnet-1b"] | {"vocabulary": 6000, "width": 48, "heads": 3}
    row = replace(find("lightnet-1b"), weights=weights)
    model, engine = build(row, **changes), Engine(LONGWAVE)
    write(model, row.name, tmp_path / "model", model.tensors.random(seed=1), "BF16")
    compiled = engine.compile(tmp_path / "model", tmp_path / "tied.lw", 32, True, 16, weights=weights)
    table, size = 6000 * 48, {"float32": 4, "bf16": 2, "int8": 1}[weights]
    rest = 4 * (model.tensors.parameters - table) + 4 * 6016  # at most, with the scales of int8
    assert table * size <= compiled.report["weights_bytes"] <= 1.02 * table * size + rest
    inputs = made_up(model, 32, seed=3)
    found = engine.run(tmp_path / "tied.lw", model, inputs, tmp_path)
    with torch.inference_mode():
        nets = [
            on_demand(row, tmp_path / "model" / "weights.safetensors", rounded, **changes) for rounded in (False, True)
        ]
        wanted, in_steps = (net(torch.from_numpy(inputs["ids"])[None])[0].numpy() for net in nets)
    rounding = np.abs(in_steps - wanted).max() if weights == "int8" else 0.0
    limit = 3e-6 * np.abs(wanted).max() + ROUNDINGS * rounding
    assert rounding <= 5e-4 * np.abs(wanted).max()
    assert np.abs(found.reshape(wanted.shape) - wanted).max() <= limit


def test_activations_get_the_steps_that_the_compiler_writes(tmp_path) -> None:
    """A wide layer, whose sums leave no room for all steps."""
    torch = pytest.importorskip("torch")
    from zoo.on_demand import activation_steps, as_stored, in_steps

    weight = as_stored(torch.rand(3, 4000, generator=torch.Generator().manual_seed(1)) - 0.5, "int8")
    steps = activation_steps(weight)
    heaviest = max(int((row.abs() / row.abs().max() * 127).round().sum()) for row in weight)
    assert 2048 <= steps < 32512 and steps * heaviest < 2**31 <= (steps + 1) * heaviest
    assert activation_steps(weight.repeat(1, 20)) is None and activation_steps(weight[:, :40]) == 32512
    rows = torch.randn(5, 4000, dtype=torch.float64)
    change = (in_steps(rows, steps) - rows).abs().amax(1)
    half = rows.abs().amax(1) / steps / 2
    assert torch.all(change <= half) and torch.all(change >= 0.99 * half)


@pytest.mark.parametrize("weights, limit", [("float32", 1e-5), ("bf16", 0.03), ("int8", 0.06)])
def test_the_peer_of_large_models_gives_the_numbers_of_the_layers(weights, limit, tmp_path) -> None:
    """One token at a time through the fast step; bf16 and int8 round activations as well (8 bits of a mantissa,
    twice a layer)."""
    torch = pytest.importorskip("torch")
    from zoo.on_demand import on_demand
    from zoo.step import FORMS, Step

    changes = SMALL["lightnet-1b"] | {
        "width": 64,
        "heads": 2,
        "hidden": 96,
        "gate_rank": 16,
        "vocabulary": 64,
        "depth": 2,
    }
    row = replace(find("lightnet-1b"), weights=weights)
    model = build(row, **changes)
    write(model, row.name, tmp_path, model.tensors.random(seed=1), "F32")
    ids = torch.from_numpy(np.random.default_rng(2).integers(0, 64, 40))
    with torch.inference_mode():
        wanted = on_demand(row, tmp_path / "weights.safetensors", **changes)(ids[None])[0]
        for name, form in FORMS[weights].items():
            step = Step(row, tmp_path / "weights.safetensors", form, **changes)
            found = torch.cat([step(token[None]) for token in ids]).double()
            assert (found - wanted).abs().max() <= limit * wanted.abs().max(), name


@pytest.mark.parametrize(
    "name, weights", [("lightnet-1b", "bf16"), ("lightnet-1b", "int8"), ("sgconv-convnext-t", "float32")]
)
def test_size_measures_the_compiler_and_the_file_and_compares(name, weights, tmp_path) -> None:
    """A small model whose weights are mostly one table: bytes as counted by hand, tokens from `longwave generate`."""
    pytest.importorskip("torch")
    from zoo import exact, size
    from zoo.engine import Engine

    if not LONGWAVE.exists():
        pytest.skip(f"needs {LONGWAVE}")
    large = {"vocabulary": 20_000, "width": 64} if name == "lightnet-1b" else {}
    options = dict(find(name).options) | SMALL[name] | large
    row = replace(find(name), length=options.pop("length", 64), options=options, paper=None)
    line = size.measure(
        row, weights, Engine(LONGWAVE), tmp_path, size.Settings(rounds=1, tokens=4, torch=False, keep=False)
    )
    limit = exact.LIMIT + exact.ROUNDINGS * line["rounding"]
    assert (line["rounding"] > 0) == (weights == "int8") and line["rounding"] <= 5e-4
    assert line["difference"] <= limit and line["resident_mb"] > line["own_mb"] > 0
    if name == "lightnet-1b":
        table = 20_000 * 64 * {"bf16": 2, "int8": 1}[weights] + (4 * 20_000 if weights == "int8" else 0)
        assert table <= 1e6 * line["stored_mb"] <= 1.05 * table
        assert line["token_ms"] > 0 and line["stream_difference"] <= limit
    assert not (tmp_path / f"{name}-{weights}.lw").exists()


def test_tensors_are_written_as_bfloat16_rounded_to_the_nearest(tmp_path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    model = build(find("lightnet-1b"), **SMALL["lightnet-1b"])
    write(model, "small", tmp_path, model.tensors.random(seed=1), "BF16")
    written = load_file(tmp_path / "weights.safetensors")
    for key, values in model.tensors.random(seed=1):
        assert torch.equal(written[key], torch.from_numpy(values).to(torch.bfloat16)), key


@pytest.mark.parametrize("name", [name for name in SMALL if find(name).exact])
def test_a_row_is_held_to_float64_and_its_stream_to_the_whole_run(name, tmp_path, monkeypatch) -> None:
    pytest.importorskip("torch")
    from zoo import exact
    from zoo.engine import Engine

    if not LONGWAVE.exists():
        pytest.skip(f"needs {LONGWAVE}")
    options = dict(find(name).options) | SMALL[name]
    row = replace(find(name), length=options.pop("length", 96), options=options)
    model, engine = build(row), Engine(LONGWAVE)
    write(model, name, tmp_path / "model", model.tensors.random(seed=1), row.stored)
    engine.compile(
        tmp_path / "model", tmp_path / "small.lw", row.length, model.streams, proof=False, weights=row.weights
    )
    found = exact.check(row, model, engine, tmp_path / "small.lw", tmp_path)
    assert (
        found.of_double <= found.limit
        and (found.of_whole is None) == (not model.streams)
        and (found.of_whole or 0) <= found.limit
    )
    assert found.limit <= exact.LIMIT + (1e-3 if row.weights == "int8" else 0)
    monkeypatch.setattr(exact, "LIMIT", found.of_double / 2)
    monkeypatch.setattr(exact, "ROUNDINGS", 0)
    with pytest.raises(ValueError, match="of the outputs' peak from PyTorch in float64; the limit is"):
        exact.check(row, model, engine, tmp_path / "small.lw", tmp_path)


def test_a_checkpoint_gives_its_weights_or_says_what_is_wrong(tmp_path) -> None:
    from safetensors.numpy import save_file

    model = build(find("sgconv-listops"), **SMALL["sgconv-listops"])
    state = dict(model.tensors.random(seed=2))
    state["model.layers.0.norm.norm.num_batches_tracked"] = np.zeros((), np.float32)
    assert all(np.array_equal(values, state[key]) for key, values in model.tensors.of(state))
    del state["encoder.0.weight"]
    state["decoder.0.output_transform.bias"] = np.zeros(3, np.float32)
    save_file(state, tmp_path / "state.safetensors")
    with pytest.raises(ValueError) as wrong:
        write(model, "small", tmp_path / "model", model.tensors.of(state))
    assert str(wrong.value) == (
        "encoder.0.weight: expected shape [18, 8], found no such tensor\n"
        "decoder.0.output_transform.bias: expected shape [10], found [3]"
    )
    assert not (tmp_path / "model" / "weights.safetensors").exists()


def test_unknown_names_and_broken_files_are_one_line(tmp_path, capsys) -> None:
    assert main(["write", "listops", str(tmp_path)]) == 3
    assert capsys.readouterr().err == "listops: no such configuration; did you mean sgconv-listops or chela-listops?\n"
    assert main(["write", "sgconv-listops", str(tmp_path), "--checkpoint", str(tmp_path / "none.safetensors")]) == 3
    assert "none.safetensors" in capsys.readouterr().err


def test_the_list_agrees_with_the_papers(capsys) -> None:
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(row.name in printed for row in ROWS) and "DIFFERS" not in printed
