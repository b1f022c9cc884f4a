#!/usr/bin/env python3
"""Modules that others wrote through the importer: what becomes of each, compiled and compared with PyTorch.

    published_parts.py [--longwave build/longwave] [--sources FOLDER] [PART ...]

Needs PyTorch. Parts of torchaudio and speechbrain, where those are installed. Modules of papers, where `--sources` holds
clones of their repositories (authors_modules.py lists them, and the packages that they import). What is missing is left
out, with the reason. Each part has small sizes, and random weights that are like trained ones. What is imported must equal
PyTorch, offline and, unless it says "offline", as a stream: within 2e-6 of the peak, or 5e-6 where PyTorch computes a kernel
in float32.
Prints the rows of the tables in docs/import.md; exit 1 where one is not what its line says.
"""

import argparse
import contextlib
import importlib
import os
import pathlib
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
AHEAD = "no stream"


class Part:
    """`make`: the module, of what its library offers. `expected`: "streams", "streams N rows late", "offline", or a
    part of the reason of a rejection."""

    def __init__(self, name, library, make, spec, expected, call=None, length=97, limit=2e-6, min_rows=1):
        self.name, self.library, self.make, self.spec, self.expected = name, library, make, spec, expected
        self.call, self.length, self.limit, self.min_rows = call or first_output, length, limit, min_rows


def first_output(module, x):
    y = module(x)
    return y[0] if isinstance(y, tuple) else y


def of(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def torchaudio_parts():
    def part(name, path, arguments, spec, expected, **options):
        return Part(name, "torchaudio", lambda: of(f"torchaudio.{path}")(*arguments), spec, expected, **options)

    def function(name, path, call, spec, expected, **options):
        return Part(
            name,
            "torchaudio",
            lambda: None,
            spec,
            expected,
            call=lambda _, x: call(of(f"torchaudio.{path}"), x),
            **options,
        )

    import torch

    def mel(center):
        return lambda: of("torchaudio.transforms.MelSpectrogram")(8000, 256, hop_length=128, n_mels=16, center=center)

    padded = torch.nn.functional.pad
    kernel = torch.randn(1, 100, generator=torch.Generator().manual_seed(1))
    loop = "a loop over the rows of the sequence has no op"
    return [
        part("Conformer: feed-forward module", "models.conformer._FeedForwardModule", (8, 16), "x=1xTx8", "streams"),
        part(
            "Conformer: convolution module of 7 taps",
            "models.conformer._ConvolutionModule",
            (8, 8, 7),
            "x=1xTx8",
            "streams 3 rows late",
        ),
        Part(
            "MelSpectrogram, center=False, zeros in front, then log",
            "torchaudio",
            mel(False),
            "x=8000",
            "streams",
            call=lambda m, x: (m(padded(x, (128, 0))) + 1e-5).log(),
            length=1601,
        ),
        Part("MelSpectrogram, center=True", "torchaudio", mel(True), "x=8000", "a centred stft", length=1601),
        function(
            "fftconvolve with 100 constant taps, cut at the end",
            "functional.fftconvolve",
            lambda f, x: f(x, kernel)[..., : x.shape[-1]],
            "x=8000",
            "streams",
            length=401,
        ),
        part("AmplitudeToDB without top_db", "transforms.AmplitudeToDB", (), "x=1xTx8", "streams"),
        Part(
            "AmplitudeToDB, top_db=80",
            "torchaudio",
            lambda: of("torchaudio.transforms.AmplitudeToDB")(top_db=80.0),
            "x=1xTx8",
            "offline",
        ),
        part(
            "RNN-T: LSTM layer with layer norm",
            "models.rnnt._CustomLSTM",
            (8, 6, True),
            "x=1xTx8",
            loop,
            call=lambda m, x: m(x.transpose(0, 1), None)[0],
        ),
        part(
            "WaveRNN: MelResNet",
            "models.wavernn.MelResNet",
            (1, 8, 8, 8, 3),
            "x=1x8xT",
            "looks 2 rows ahead, and gives 95 rows of 97",
        ),
        part(
            "Conformer",
            "models.Conformer",
            (8, 2, 16, 1, 7),
            "x=1xTx8",
            "offline",
            call=lambda m, x: m(x, torch.tensor([x.shape[1]]))[0],
        ),
        part(
            "Emformer",
            "models.Emformer",
            (8, 2, 16, 1, 4),
            "x=1xTx8",
            "a mask that is neither",
            call=lambda m, x: m(x, torch.tensor([x.shape[1]]))[0],
        ),
        part(
            "ConvTasNet",
            "models.ConvTasNet",
            (2, 16, 32, 3, 8, 16, 2, 1),
            "x=1x1xT@8000",
            "has more rows than",
            length=801,
        ),
        Part(
            "Wav2Letter",
            "torchaudio",
            lambda: of("torchaudio.models.Wav2Letter")(8, "mfcc", 8),
            "x=1x8xT",
            "has more rows than",
        ),
        part("DeepSpeech", "models.DeepSpeech", (8, 16, 6), "x=1x1xTx8", "a recurrence of relu has no op"),
        part("ComputeDeltas", "transforms.ComputeDeltas", (5,), "x=1x8xT", "pads time with replicate"),
        part("SlidingWindowCmn", "transforms.SlidingWindowCmn", (20,), "x=1xTx8", loop),
        function(
            "lowpass_biquad",
            "functional.lowpass_biquad",
            lambda f, x: f(x, 8000, 1000.0),
            "x=8000",
            "writes parts of a value one by one",
            length=41,
        ),
    ]


def speechbrain_parts():
    def part(name, path, make, spec, expected, **options):
        return Part(name, "speechbrain", lambda: make(of(f"speechbrain.{path}")), spec, expected, **options)

    from torch import nn

    rows, loop = (1, 97, 8), "a loop over the rows of the sequence has no op"

    def causal_stack(conv):
        batch_norm, layer_norm = (of(f"speechbrain.nnet.normalization.{name}") for name in ("BatchNorm1d", "LayerNorm"))
        convs = [conv(8, 3, in_channels=8, padding="causal", dilation=2**n) for n in range(3)]
        return nn.Sequential(
            convs[0], batch_norm(input_size=8), nn.ReLU(), convs[1], layer_norm(input_size=8), nn.GELU(), convs[2]
        )

    blocks = "lobes.models.conv_tasnet.TemporalBlocksSequential"
    return [
        part(
            'stack of Conv1d(padding="causal"), dilated, batch and layer norm',
            "nnet.CNN.Conv1d",
            causal_stack,
            "x=1xTx8",
            "streams",
        ),
        part(
            'Conv1d(padding="same", padding_mode="constant"), 5 taps',
            "nnet.CNN.Conv1d",
            lambda c: c(6, 5, in_channels=8, padding="same", padding_mode="constant"),
            "x=1xTx8",
            "streams 2 rows late",
        ),
        part(
            'DepthwiseSeparableConv1d(padding="causal")',
            "nnet.CNN.DepthwiseSeparableConv1d",
            lambda c: c(6, 3, input_shape=rows, padding="causal"),
            "x=1xTx8",
            "streams",
        ),
        part(
            'SincConv(padding="causal")',
            "nnet.CNN.SincConv",
            lambda c: c(8, 11, input_shape=(1, 800), padding="causal", sample_rate=8000),
            "x=8000",
            "streams",
            length=801,
        ),
        part(
            "GaborConv1d, 11 taps",
            "nnet.CNN.GaborConv1d",
            lambda c: c(8, 11, 1, input_shape=(1, 800), padding="same"),
            "x=8000",
            "streams 5 rows late",
            length=801,
        ),
        part(
            "TemporalBlocksSequential, causal, cLN (Conv-TasNet)",
            blocks,
            lambda c: c(rows, 8, 3, 1, 2, "cLN", True),
            "x=1xTx8",
            "streams",
        ),
        part("the same with gLN", blocks, lambda c: c(rows, 8, 3, 1, 2, "gLN", True), "x=1xTx8", "offline"),
        part(
            "Conformer: convolution module, causal",
            "lobes.models.transformer.Conformer.ConvolutionModule",
            lambda c: c(8, 5, causal=True),
            "x=1xTx8",
            "streams",
        ),
        part(
            "the same, 5 centred taps",
            "lobes.models.transformer.Conformer.ConvolutionModule",
            lambda c: c(8, 5),
            "x=1xTx8",
            "streams 2 rows late",
        ),
        part("LSTM, two layers", "nnet.RNN.LSTM", lambda c: c(6, rows, num_layers=2), "x=1xTx8", "streams"),
        part("GRU, two layers", "nnet.RNN.GRU", lambda c: c(6, rows, num_layers=2), "x=1xTx8", "streams"),
        part(
            "RNNLM",
            "lobes.models.RNNLM.RNNLM",
            lambda c: c(output_neurons=16, rnn_layers=1, rnn_neurons=12, dnn_blocks=1, dnn_neurons=8),
            "x=1xT:16",
            "streams",
        ),
        part(
            "VanillaNN",
            "lobes.models.VanillaNN.VanillaNN",
            lambda c: c(input_shape=rows, dnn_blocks=2, dnn_neurons=16),
            "x=1xTx8",
            "streams",
        ),
        part("LiGRU", "nnet.RNN.LiGRU", lambda c: c(6, rows), "x=1xTx8", loop, length=31),
        part("SLiGRU", "nnet.RNN.SLiGRU", lambda c: c(6, rows), "x=1xTx8", loop, length=31),
        part("QuasiRNN", "nnet.RNN.QuasiRNN", lambda c: c(8, rows), "x=1xTx8", loop, length=31),
        part("RNN", "nnet.RNN.RNN", lambda c: c(6, input_size=8), "x=1xTx8", "a recurrence of relu has no op"),
        part("PCEN", "nnet.normalization.PCEN", lambda c: c(8), "x=1xTx8", loop, length=31),
        part(
            'Conv1d(padding="same")',
            "nnet.CNN.Conv1d",
            lambda c: c(6, 5, in_channels=8, padding="same"),
            "x=1xTx8",
            "pads time with reflect",
        ),
        part(
            "ECAPA_TDNN",
            "lobes.models.ECAPA_TDNN.ECAPA_TDNN",
            lambda c: c(8, channels=[16] * 5, attention_channels=8, lin_neurons=8, res2net_scale=4, se_channels=8),
            "x=1xTx8",
            "pads time with reflect",
        ),
        part(
            "ConvolutionFrontEnd",
            "lobes.models.convolution.ConvolutionFrontEnd",
            lambda c: c(
                rows,
                num_blocks=1,
                num_layers_per_block=1,
                out_channels=(4,),
                kernel_sizes=(3,),
                strides=(1,),
                residuals=(False,),
            ),
            "x=1xTx8",
            "pads time with reflect",
        ),
        part("Fbank", "lobes.features.Fbank", lambda c: c(n_mels=16), "x=16000", "a centred stft", length=1601),
        part(
            "HyperMixing",
            "nnet.hypermixing.HyperMixing",
            lambda c: c(8, 16, 2),
            "x=1xTx8",
            "combines several values that depend on the input",
            call=lambda m, x: m(x, x, x)[0],
        ),
        part(
            "Xvector",
            "lobes.models.Xvector.Xvector",
            lambda c: c(in_channels=8, tdnn_channels=[8] * 5, lin_neurons=8),
            "x=1xTx8",
            "torch.export: ",
        ),
    ]


def trained_like(module):
    """Weights as a training leaves them. Modules begin with zeros, with ones and with taps below their own thresholds; then a
    part of them has no effect, and a wrong import of it equals PyTorch."""
    import torch

    random = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for p in (p for p in module.parameters() if p.is_floating_point() or p.is_complex()):
            p += 0.2 * torch.randn(p.shape, dtype=p.dtype, generator=random)
        for part in module.modules():
            if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is not None:
                part.running_mean.uniform_(-1, 1, generator=random)
                part.running_var.uniform_(0.5, 2, generator=random)
    return module


def outcome(part, folder):
    """What becomes of it, in the words of `expected`, and the error of the compiled file, of the peak. AssertionError where numbers differ."""
    import torch
    from importer_checks import compiled_equals
    from longwave.importer.api import import_module
    from longwave.importer.errors import ImportFailed
    from torch import nn

    class Called(nn.Module):
        def __init__(self, module, call):
            super().__init__()
            self.part, self.call = module, call

        def forward(self, x):
            return self.call(self.part, x)

    torch.manual_seed(1)
    try:
        module = trained_like(Called(part.make(), part.call).eval())
    except Exception as e:  # whatever its library raises
        return f"not made: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", None
    try:
        made = import_module(module, [part.spec], length=part.length, longest=part.length, min_rows=part.min_rows)
    except ImportFailed as e:
        return "rejected: " + "; ".join(
            dict.fromkeys(f"{problem.op}: {problem.reason}" for problem in e.problems)
        ), None
    for convolution in made.importer.convolutions:
        assert convolution.lags.abs().max() > 1e-3, f"{convolution.where}: its taps are zero: nothing was compared"
    notes = made.importer.warnings
    streams = not any(AHEAD in note for note in notes)
    error = compiled_equals(module, part.spec, made, folder, streams, limit=part.limit)
    late = sum(int(note.split("so many")[0].split("looks ")[1].split()[0]) for note in notes if "comes so many" in note)
    return "offline" if not streams else f"streams {late} rows late" if late else "streams", error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longwave", type=pathlib.Path, default=ROOT / "build/longwave")
    parser.add_argument("--sources", type=pathlib.Path, help="folder of clones: SGConv, s4, safari")
    parser.add_argument("parts", nargs="*", metavar="PART", help="words of a name (default: all)")
    options = parser.parse_args()
    os.environ["LONGWAVE"] = str(options.longwave.resolve())
    sys.path.insert(0, str(ROOT / "tools/python/tests"))
    warnings.filterwarnings("ignore")
    return 1 if sum(unexpected(library, parts, options.parts) for library, parts in libraries(options.sources)) else 0


def libraries(sources):
    """(name, its parts) of what is there."""
    for library, parts in (("torchaudio", torchaudio_parts), ("speechbrain", speechbrain_parts)):
        try:
            importlib.import_module(library)
        except (ImportError, OSError) as e:
            print(f"{library}: left out: {str(e).splitlines()[0]}", file=sys.stderr)
            continue
        yield library, parts()
    if sources:
        from authors_modules import repositories

        yield from repositories(sources, Part)
    else:
        print("modules of papers: left out: no --sources", file=sys.stderr)


def unexpected(library, parts, words):
    """How many parts are not what their line says. Prints a row for each."""
    count = 0
    print(f"\n| {library} | Result | Error |\n|---|---|---|")
    for part in parts:
        if words and not any(word in part.name for word in words):
            continue
        begin = time.process_time()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):  # authors print sizes
            try:
                found, error = outcome(part, pathlib.Path(folder))
            except AssertionError as e:
                found, error = f"DIFFERS: {str(e).strip()[:200]}", None
        as_expected = found == part.expected or found.startswith("rejected: ") and part.expected in found
        count += not as_expected
        print(
            f"| {part.name} | {found} | {'-' if error is None else f'{error:.1e}'} |"
            + ("" if as_expected else f"  expected: {part.expected}"),
            flush=True,
        )
        print(f"{part.name}: {time.process_time() - begin:.1f} s", file=sys.stderr)
    return count


if __name__ == "__main__":
    sys.exit(main())
