#!/usr/bin/env python3
"""Streams of one model that run together (lw_batch): every row has the bits of the same stream alone, whatever runs beside it.

Small models of every family and of every kind of layer are compiled with `--streams`. Streams come and go, start at other times, are cut at random, saved and loaded
into other streams. Then spotters and generators of the
trained models: the events and ids of single ones. Then arguments that are wrong: they are refused with a reason, and no stream takes anything.

    batches_test.py LONGWAVE FOLDER [--model NAME ...]
"""

import argparse
import array
import ctypes as c
import os
import pathlib
import random
import subprocess
import sys
import wave

import families
import sc10_package
import state_streams

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH, TOGETHER = 40, [2, 5, 16]
EVERY = "LONGWAVE_EVERY_CASE" in os.environ
# These alone have all of TOGETHER, and 200 streams: how streams are divided among kernels is the runtime's, whatever the kernels.
DIVIDED = "sgconv", "lstm_odd", "orchid"
WINDOW = ["--window", "32", "--hop", "4"]


def tensor(key):
    return {"tensor": key}


def graph(nodes, weights, last):
    return (
        {
            "format": "longwave-model",
            "version": 2,
            "name": "batches",
            "length": 64,
            "inputs": [{"name": "x", "kind": "features", "width": WIDTH}],
            "graph": nodes,
            "outputs": [{"name": "y", "from": last}],
        },
        weights.tensors,
    )


def linear(weights, name, source, out, width):
    weights.linear(name, out, width)
    return {
        "name": name,
        "op": "linear",
        "inputs": [source, tensor(f"{name}.weight"), tensor(f"{name}.bias")],
        "attributes": {"bias": 1},
    }


def gated(kind, gates, units, begun=False):
    """A gated recurrence between linear layers; `units` that fill no vector leave lanes behind the last. `begun`: from given states, a GRU with its reset first."""
    weights = families.Weights()
    nodes = [linear(weights, "in", "x", gates * units, WIDTH)]
    weights.normal(f"{kind}.weight", [gates * units, units], 0.3)
    inputs = ["in", tensor(f"{kind}.weight")]
    if kind == "gru":
        weights.normal("gru.bias", [units], 0.1)
        inputs.append(tensor("gru.bias"))
    attributes = {}
    if begun:
        weights.normal(f"{kind}.initial", [2, units] if kind == "lstm" else [units], 0.8)
        inputs.append(tensor(f"{kind}.initial"))
        attributes = {"attributes": {"reset_after": 0}} if kind == "gru" else {}
    nodes += [{"name": kind, "op": kind, "inputs": inputs, **attributes}, linear(weights, "out", kind, 33, units)]
    return graph(nodes, weights, "out")


def banded(kind, gates, units, bands, over_bands):
    """A gated recurrence of each band, from given states, or over the bands of each row."""
    weights = families.Weights()
    nodes = [linear(weights, "in", "x", bands * gates * units, WIDTH)]
    weights.tensors["index"] = [bands * gates * units], array.array("f", range(bands * gates * units))
    nodes.append({"name": "bands", "op": "take", "inputs": ["in", tensor("index")], "attributes": {"bands": bands}})
    weights.normal(f"{kind}.weight", [gates * units, units], 0.3)
    inputs, attributes = ["bands", tensor(f"{kind}.weight")], {"attributes": {"over_bands": 1}} if over_bands else {}
    if kind == "gru":
        weights.normal("gru.bias", [units], 0.1)
        inputs.append(tensor("gru.bias"))
    if not over_bands:
        weights.normal(f"{kind}.initial", [2, bands, units] if kind == "lstm" else [bands, units], 0.8)
        inputs.append(tensor(f"{kind}.initial"))
    nodes += [
        {"name": kind, "op": kind, "inputs": inputs, **attributes},
        linear(weights, "out", kind, 33, bands * units),
    ]
    return graph(nodes, weights, "out")


def images():
    """2-D convolutions: over time and frequency with padding, with a stride in both, depthwise, over few frequencies."""
    weights = families.Weights()
    shapes = [
        ("first", "x", [24, 1, 3, 3], 1, 1, 1, 1),
        ("strided", "first", [32, 24, 2, 3], 2, 2, 1, 0),
        ("depthwise", "strided", [32, 1, 3, 3], 1, 1, 32, 0),
        ("wide", "depthwise", [48, 32, 1, 5], 1, 2, 1, 0),
        ("few", "wide", [40, 48, 1, 3], 1, 1, 1, 0),  # products with the zeros around are left out
    ]
    nodes = []
    for name, source, shape, stride_t, stride_f, groups, frequency in shapes:
        weights.normal(f"{name}.weight", shape, (shape[1] * shape[2] * shape[3]) ** -0.5)
        weights.normal(f"{name}.bias", [shape[0]], 0.1)
        nodes.append(
            {
                "name": name,
                "op": "conv2d",
                "inputs": [source, tensor(f"{name}.weight"), tensor(f"{name}.bias")],
                "attributes": {
                    "stride_t": stride_t,
                    "stride_f": stride_f,
                    "groups": groups,
                    "bias": 1,
                    "frequency": frequency,
                },
            }
        )
        nodes.append({"name": f"{name}/relu", "op": "relu", "inputs": [name]})
    return graph(nodes, weights, "few/relu")


def perceptron(width):
    """Linear layers of widths that fill no vector, with a gate (glu) and an output of one value."""
    weights = families.Weights()
    for name, out, into in (("wide", width, WIDTH), ("gated", 2 * 70, width), ("narrow", 300, 70), ("one", 1, 300)):
        weights.linear(name, out, into)
    layers = [
        {"type": "linear", "name": "wide", "out_features": width},
        {"type": "gelu", "name": "act"},
        {"type": "linear", "name": "gated", "out_features": 140},
        {"type": "glu", "name": "gate"},
        {"type": "linear", "name": "narrow", "out_features": 300},
        {"type": "sigmoid", "name": "squash"},
        {"type": "linear", "name": "one", "out_features": 1},
    ]
    return families.model("perceptron", WIDTH, layers, ["squash", "one"]), weights.tensors


def strided():
    """One row for four ticks, then a convolution over those rows: streams at different ticks fire different steps."""
    weights = families.Weights()
    for name, shape in (("first", [64, WIDTH, 5]), ("second", [WIDTH, 64, 3])):
        weights.normal(f"{name}.weight", shape, 0.1)
        weights.normal(f"{name}.bias", shape[:1], 0.1)
    layers = [
        {"type": "conv1d", "name": "first", "out_channels": 64, "kernel": 5, "stride": 4},
        {"type": "gelu", "name": "act"},
        {"type": "conv1d", "name": "second", "out_channels": WIDTH, "kernel": 3},
    ]
    return families.model("strided", WIDTH, layers), weights.tensors


# The package, options of the compile, and whether kernels for several streams are expected.
MODELS = {
    "sgconv": (lambda: families.sgconv(WIDTH, 2, l_max=100), ["--blocks", "1,16"], True),
    "sgconv_wide": (lambda: families.sgconv(200, 1, l_max=60, postact="glu"), ["--blocks", "4"], True),
    "chela": (lambda: families.chela(WIDTH, 2, taps=60), ["--blocks", "4,1"], True),
    "lightnet": (lambda: families.lightnet(WIDTH, 2, heads=2, short_conv=3), ["--blocks", "1"], True),
    "orchid": (lambda: families.orchid(WIDTH, 32), WINDOW, False),
    "one_channel": (lambda: families.sgconv(1, 1, l_max=40), ["--blocks", "2"], None),
    "lstm": (lambda: gated("lstm", 4, 64), ["--blocks", "1,4"], True),
    "lstm_odd": (lambda: gated("lstm", 4, 37), ["--blocks", "1"], True),
    "gru": (lambda: gated("gru", 3, 64), ["--blocks", "1,4"], True),
    "gru_odd": (lambda: gated("gru", 3, 21), ["--blocks", "1"], True),
    "lstm_begun": (lambda: gated("lstm", 4, 37, True), ["--blocks", "1,4"], True),
    "gru_begun": (lambda: gated("gru", 3, 64, True), ["--blocks", "1,4"], True),
    "lstm_bands": (lambda: banded("lstm", 4, 37, 3, False), ["--blocks", "1,4"], True),
    "gru_bands": (lambda: banded("gru", 3, 64, 2, False), ["--blocks", "1"], True),
    "lstm_over_bands": (lambda: banded("lstm", 4, 5, 3, True), ["--blocks", "1,4"], True),
    "gru_over_bands": (lambda: banded("gru", 3, 17, 4, True), ["--blocks", "2"], True),
    "images": (images, ["--blocks", "2"], True),
    "strided": (strided, ["--blocks", "4"], True),
    "perceptron": (lambda: perceptron(130), ["--blocks", "1,8"], True),
    "perceptron_wide": (lambda: perceptron(2048), ["--blocks", "1"], True),
    "perceptron_bf16": (lambda: perceptron(130), ["--blocks", "1", "--weights", "bf16"], True),
    "perceptron_int8": (lambda: perceptron(130), ["--blocks", "1", "--weights", "int8"], True),
    "perceptron_int4": (lambda: perceptron(130), ["--blocks", "1", "--weights", "int4"], True),
    "perceptron_bytes": (
        lambda: perceptron(130),
        ["--blocks", "1", "--weights", "int8", "--activations", "int8"],
        True,
    ),
}


class Batch:
    def __init__(self, model):
        self.model, self.lib, self.handle = model, model.lib, c.c_void_p()
        model.check(self.lib.lw_batch_create(model.handle, c.byref(self.handle)))

    def push(self, streams, values, counts):
        """The ticks that each took."""
        n = len(streams)
        data = [(c.c_float * max(1, len(v)))(*v) for v in values]
        taken = (c.c_size_t * n)()
        self.model.check(
            self.lib.lw_batch_push(
                self.handle,
                (c.c_void_p * n)(*[s.handle.value for s in streams]),
                c.c_size_t(n),
                (c.c_void_p * n)(*[c.addressof(d) for d in data]),
                (c.c_size_t * n)(*counts),
                taken,
            )
        )
        return list(taken)

    def close(self):
        self.lib.lw_batch_destroy(self.handle)


def pulled(stream):
    out, rows = stream.api.Output(), []
    while (status := stream.lib.lw_stream_pull(stream.handle, c.byref(out))) == 0:
        rows.append((out.index, out.row, tuple(out.data[: out.width])))
    assert status in (1, 2), status
    return rows


def alone(model, block, values, width):
    stream = state_streams.Stream(model, block)
    data = (c.c_float * len(values))(*values)
    taken = c.c_size_t()
    model.check(model.lib.lw_stream_push(stream.handle, data, c.c_size_t(len(values) // width), c.byref(taken)))
    assert taken.value == len(values) // width
    rows = pulled(stream)
    stream.close()
    return rows


def together(model, block, n, ticks, width, seed):
    """n streams of the same entry through one batch."""
    rng = random.Random(seed)
    batch = Batch(model)
    inputs = [[rng.gauss(0, 1) for _ in range(ticks * width)] for _ in range(n)]
    streams = [state_streams.Stream(model, block) for _ in range(n)]
    rows, at = [[] for _ in range(n)], [0] * n
    turns = 0
    while any(a < ticks for a in at):
        turns += 1
        # Some come late, some pause, some get several blocks at once or parts of one.
        members = [i for i in range(n) if at[i] < ticks and (n == 1 or rng.random() < 0.85)]
        rng.shuffle(members)
        counts = [
            min(ticks - at[i], rng.choice([0, 1, block, block, block, 2 * block, 3 * block + 1])) for i in members
        ]
        taken = batch.push(
            [streams[i] for i in members],
            [inputs[i][at[i] * width : (at[i] + k) * width] for i, k in zip(members, counts)],
            counts,
        )
        assert taken == counts, (taken, counts)
        for i, k in zip(members, counts):
            at[i] += k
            rows[i] += pulled(streams[i])
        if members and turns % 7 == 3:  # one goes on in another stream, from its saved state
            i = members[0]
            other = state_streams.Stream(model, block)
            other.load(streams[i].save())
            streams[i].close()
            streams[i] = other
    for i in range(n):
        expected = alone(model, block, inputs[i], width)
        assert expected, "no rows"
        assert rows[i] == expected, f"stream {i} of {n}, block {block}: other rows than alone"
        streams[i].close()
    batch.close()


def compiled(longwave, folder, name):
    package, (make, options, _) = folder / f"batches_{name}", MODELS[name]
    sc10_package.write(package, *make())
    artifact = folder / f"batches_{name}.lw"
    command = [longwave, "compile", package, "-o", artifact, "--target", "host", *options]
    if "--window" not in options:
        counts = TOGETHER if EVERY or name in DIVIDED else TOGETHER[1:]
        command += ["--stream", "--streams", ",".join(map(str, counts)), "--length", "64"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr}"
    return artifact


def check(longwave, folder, name):
    api = state_streams.library(longwave)
    make, options, expected = MODELS[name]
    model = state_streams.Model(api, compiled(longwave, folder, name))
    batch = Batch(model)
    most = model.lib.lw_batch_streams(batch.handle)
    assert expected is None or most == (TOGETHER[-1] if expected else 1), most
    batch.close()
    width = make()[0]["inputs"][0]["width"]
    blocks = [4] if "--window" in options else [int(b) for b in options[1].split(",")]
    ticks = 40 if "--window" in options else 12  # a window gives rows when its middle has come
    for block in blocks:
        for n in (1, 2, 3, 16, 37) if EVERY or name in DIVIDED else (1, 3, 37):  # 37: 16, 16 and 5
            together(model, block, n, 5 * block + ticks, width, seed=n)
    if EVERY or name in DIVIDED:
        together(model, blocks[0], 200, 2 * blocks[0] + ticks, width, seed=200)
    model.close()
    return most


class Event(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("label", c.c_uint32),
        ("word", c.c_char_p),
        ("score", c.c_float),
        ("tick", c.c_uint64),
        ("tick_start", c.c_uint64),
        ("row", c.c_uint64),
    ]


class SpotterOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("format", c.c_int), ("rest", c.c_uint64 * 16)]


class Token(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("id", c.c_int32),
        ("log_probability", c.c_float),
        ("position", c.c_uint64),
        ("stop", c.c_uint32),
        ("held", c.c_uint32),
    ]


class GeneratorOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("seed", c.c_uint64),
        ("temperature", c.c_float),
        ("rest", c.c_uint64 * 16),
    ]


def trained(longwave, folder, package, *options):
    artifact = folder / f"batches_{package.parent.name}.lw"
    command = [
        longwave,
        "compile",
        package,
        "-o",
        artifact,
        "--stream",
        "--no-whole",
        "--target",
        "host",
        "--streams",
        "16",
        *options,
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr}"
    return artifact


def spotters(longwave, folder):
    """16 spotters of the keyword model, each at another place of the recording."""
    api = state_streams.library(longwave)
    model = state_streams.Model(api, trained(longwave, folder, ROOT / "examples/kws/model"))
    lib, batch, n = model.lib, Batch(model), 16
    with wave.open(str(ROOT / "examples/kws/demo.wav")) as file:
        audio = file.readframes(file.getnframes())
    length = len(audio) // 2 - n * 700
    options = SpotterOptions(struct_size=16, format=2)  # LW_S16

    def created():
        handle = c.c_void_p()
        model.check(lib.lw_spotter_create(model.handle, c.byref(options), c.byref(handle)))
        return handle

    def events(spotter):
        event, found = Event(struct_size=c.sizeof(Event)), []
        while lib.lw_spotter_pull(spotter, c.byref(event)) == 0:
            found.append((event.word, event.score, event.tick, event.tick_start, event.row))
        return found

    together, alone = [created() for _ in range(n)], [created() for _ in range(n)]
    heard = [[] for _ in range(n)]
    sources = [c.create_string_buffer(audio[2 * 700 * i : 2 * (700 * i + length)], 2 * length) for i in range(n)]
    piece, taken = 1000, (c.c_size_t * n)()
    for at in range(0, length, piece):
        now = min(piece, length - at)
        samples = (c.c_void_p * n)(*[c.addressof(s) + 2 * at for s in sources])
        model.check(
            lib.lw_batch_push_spotters(
                batch.handle,
                (c.c_void_p * n)(*[s.value for s in together]),
                c.c_size_t(n),
                samples,
                (c.c_size_t * n)(*[now] * n),
                taken,
            )
        )
        assert list(taken) == [now] * n
        for i in range(n):
            heard[i] += events(together[i])
    for i in range(n):
        expected = []
        for at in range(0, length, piece):
            model.check(
                lib.lw_spotter_push(
                    alone[i], c.c_void_p(c.addressof(sources[i]) + 2 * at), c.c_size_t(min(piece, length - at)), None
                )
            )
            expected += events(alone[i])
        assert heard[i] == expected, f"spotter {i}: {heard[i]}, alone {expected}"
    assert sum(map(len, heard)) > 5 * n, "few words were heard"
    for spotter in together + alone:
        lib.lw_spotter_destroy(spotter)
    batch.close()
    model.close()
    return sum(map(len, heard))


def generators(longwave, folder, family, *options):
    """16 generators of a trained language model, with other seeds and prompts."""
    api = state_streams.library(longwave)
    model = state_streams.Model(
        api, trained(longwave, folder, ROOT / "examples/text" / family / "model", "--blocks", "1", *options)
    )
    lib, batch, n, ids = model.lib, Batch(model), 16, 30
    most = lib.lw_batch_streams(batch.handle)
    assert most == 16, most
    streams = []

    def created(i):
        stream, handle = c.c_void_p(), c.c_void_p()
        model.check(
            lib.lw_stream_create(model.handle, c.byref(api.StreamOptions(format=api.I32, block=1)), c.byref(stream))
        )
        streams.append(stream)
        how = GeneratorOptions(struct_size=24, seed=i, temperature=0.8)
        model.check(lib.lw_generator_create(stream, c.byref(how), c.byref(handle)))
        prompt = (c.c_int32 * 3)(84, 104, 97 + i)
        model.check(lib.lw_generator_prompt(handle, prompt, c.c_size_t(3)))
        return handle

    together, alone = [created(i) for i in range(n)], [created(i) for i in range(n)]
    tokens = (Token * n)(*[Token(struct_size=c.sizeof(Token)) for _ in range(n)])
    written, statuses = [[] for _ in range(n)], (c.c_int * n)()
    for _ in range(ids):
        model.check(
            lib.lw_batch_next(
                batch.handle, (c.c_void_p * n)(*[g.value for g in together]), c.c_size_t(n), tokens, statuses
            )
        )
        assert list(statuses) == [0] * n
        for i in range(n):
            written[i].append((tokens[i].id, tokens[i].position))
    for i in range(n):
        token, expected = Token(struct_size=c.sizeof(Token)), []
        for _ in range(ids):
            model.check(lib.lw_generator_next(alone[i], c.byref(token)))
            expected.append((token.id, token.position))
        assert written[i] == expected, f"generator {i}: {written[i]}, alone {expected}"
    for generator in together + alone:
        lib.lw_generator_destroy(generator)
    for stream in streams:
        lib.lw_stream_destroy(stream)
    batch.close()
    model.close()
    return len({text[0] for text in map(tuple, written)})


def status_of(lib, *arguments):
    status = lib.lw_batch_push(*arguments)
    return status, lib.lw_last_error().decode()


def refusals(longwave, folder):
    api = state_streams.library(longwave)
    model, other = (state_streams.Model(api, compiled(longwave, folder, name)) for name in ("lstm_odd", "gru_odd"))
    lib, batch = model.lib, Batch(model)
    a, b, foreign = state_streams.Stream(model), state_streams.Stream(model), state_streams.Stream(other)
    x = (c.c_float * (2 * WIDTH))()
    taken = (c.c_size_t * 2)()

    def push(streams, data=(x, x), counts=(1, 1), into=taken, handle=batch.handle):
        handles = streams and (c.c_void_p * 2)(*[s.handle.value if s else None for s in streams])
        return status_of(
            lib,
            handle,
            handles,
            c.c_size_t(2),
            data and (c.c_void_p * 2)(*[d and c.addressof(d) for d in data]),
            counts and (c.c_size_t * 2)(*counts),
            into,
        )

    INVALID, WRONG_STATE = 10, 11
    for status, text, result in [
        (INVALID, "NULL", push((a, b), handle=None)),
        (INVALID, "NULL", push(None)),
        (INVALID, "NULL", push((a, b), data=None)),
        (INVALID, "NULL", push((a, b), counts=None)),
        (INVALID, "NULL", push((a, b), into=None)),
        (INVALID, "stream 1 of the call is NULL", push((a, None))),
        (INVALID, "stream 1 of the call occurs twice", push((a, a))),
        (INVALID, "stream 0 of the call is of another model", push((foreign, a))),
        (INVALID, "(stream 1 of the call)", push((a, b), data=(x, None))),
    ]:
        assert result[0] == status and text in result[1], (status, text, result)
    assert lib.lw_stream_finish(b.handle) == 0
    assert push((a, b))[0] == WRONG_STATE
    assert pulled(a) == [] and list(taken) == [0, 0], "a refused call took something"
    assert lib.lw_stream_reset(b.handle) == 0
    assert push((a, b))[0] == 0, "the streams go on"
    assert len(pulled(a)) == len(pulled(b)) == 1 and list(taken) == [1, 1]
    assert lib.lw_batch_push(batch.handle, None, c.c_size_t(0), None, None, None) == 0, "no streams are fine"
    assert (
        lib.lw_batch_create(None, c.byref(c.c_void_p())) == INVALID
        and lib.lw_batch_create(model.handle, None) == INVALID
    )
    lib.lw_batch_destroy(None)
    assert lib.lw_batch_streams(None) == 0
    for stream in (a, b, foreign):
        stream.close()
    model.close()  # the batch keeps it
    batch.close()
    other.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS))
    options = parser.parse_args()
    longwave, folder = options.longwave.resolve(), options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.model:
        most = check(longwave, folder, name)
        print(f"{name}: the bits of single streams, {most} streams of a kernel", flush=True)
    if options.model == list(MODELS):
        print(f"16 spotters: {spotters(longwave, folder)} events, those of single ones", flush=True)
        for family, *how in (("lightnet",), ("chela", "--weights", "int8")):
            print(
                f"16 generators of {family} {' '.join(how)}: {generators(longwave, folder, family, *how)} first ids, all as alone",
                flush=True,
            )
    refusals(longwave, folder)
    print("wrong arguments are refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
