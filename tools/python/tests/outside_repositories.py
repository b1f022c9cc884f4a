"""Modules of 28 repositories of other people, as they are, small and with random weights. The sources are those of the user's clones.

LONGWAVE_REPOSITORIES names a folder with clones OWNER+NAME, bare or not. A module is read at the commit of the table, so a later one changes
nothing. REPOSITORIES: commits. MODULES: name -> Case, "equal" or what the refusal says.
"""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import tarfile
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from outside_packages import channels_first, of_samples, to_samples
from outside_sequence import Of
from torch import nn

REPOSITORIES = {
    "locuslab/TCN": "2f8c2b817050206397458dfd1f5a25ce8a32fe65",
    "csteinmetz1/micro-tcn": "3e1067bcaf07e4ecea88ae16e55437024d1d7eb6",
    "kaituoxu/Conv-TasNet": "0d9d9dcd8037b396fd029000af58cda6b7663b11",
    "lhwcv/DTLN_pytorch": "feb3d4b08bd4cb2b9483d0d86cc3c4d7be21012f",
    "GuitarML/PedalNetRT": "a6be9a99d080e095a2bfdd46f832d66462f8a14f",
    "teddykoker/pedalnet": "a37e6a8641701b92f5d498531bd17558327a233e",
    "wenet-e2e/wekws": "1a8ee651620f49a8a7779be4d30668157fc23350",
    "haoxiangsnr/FullSubNet": "5e223b023f91085bc784121453de22ea722fa01f",
    "haoxiangsnr/A-Convolutional-Recurrent-Neural-Network-for-Real-Time-Speech-Enhancement": "31610a5b6b398b90ae6b42701ee6cf0e8dcfe871",
    "huyanxin/DeepComplexCRN": "2e20e122d4b752cd8299450dae5181ff2bd3c29d",
    "etzinis/sudo_rm_rf": "cd00f2e21f7ad6281360cdf24ade36f84b0fbad6",
    "KoeAI/LLVC": "1627c5d358cf9bb2b92b0ccc513d8b36807c923d",
    "auspicious3000/autovc": "c1827a60e83e6d26030b8953843b2f7cf2bd36db",
    "Qualcomm-AI-research/bcresnet": "656f947a2a757ab5f36f649ed303ea0191cf553e",
    "wesbz/SoundStream": "e9dac26a7364656c5768cbc5dc38f41801d27831",
    "haoxiangsnr/Wave-U-Net-for-Speech-Enhancement": "64e1aa2a39b3f496701dfc60d9717d219ef18e44",
    "r9y9/wavenet_vocoder": "a35fff76ea3687b05e1a10023cad3f7f64fa25a3",
    "descriptinc/melgan-neurips": "6488045bfba1975602288de07a58570c7b4d66ea",
    "ruizhecao96/CMGAN": "39946005d9b66fa1e824edf4bb6bc9a06088e443",
    "facebookresearch/AudioDec": "e451e62580a66fe74426db51d92a6d0d468b70b3",
    "Xiaobin-Rong/deepvqe": "615ca55a5c093bf6f6f4a13f6c6a6afd2bba33eb",
    "Rikorose/DeepFilterNet": "d375b2d8309e0935d165700c91da9de862a99c31",
    "mcomunita/gcn-tfilm": "3f8a1045b956ff13048f8be9c48c2a7b5e40f64d",
    "Alec-Wright/CoreAudioML": "f3a07c415ba134efca2a6968c15b56cc6e33a18a",
    "castorini/honk": "c3aae750c428520ba340961bddd526f9c999bb93",
    "NX-AI/xlstm": "032a6fb8ee19a8c0db80ae6111ff4744a09414a9",
    "state-spaces/s4": "e757cef57d89e448c413de7325ed5601aceaac13",
    "johnma2006/mamba-minimal": "03de542a36d873f6e6c4057ad687278cc6ae944d",
}
DEEP_FILTER = ("df", "df.model", "df.utils", "libdf")
CORE_AUDIO = ("CoreAudioML", "CoreAudioML.miscfuncs")
AUDIO = "wave=1xT@8000"
IMAGE = "x=1xTx33"


@dataclass
class Case:
    repository: str
    folder: str  # of the repository, from which its modules are imported
    source: str  # the Python module
    make: Callable[[types.ModuleType], nn.Module]
    spec: str
    refusal: str  # what the error says; empty: the import is equal
    stubs: tuple[str, ...]  # modules that the source imports for files, plots and training
    length: int


MODULES: dict[str, Case] = {}


def case(
    name: str,
    repository: str,
    source: str,
    make: Callable[[types.ModuleType], nn.Module],
    spec: str = "x=1xTx8",
    refusal: str = "",
    folder: str = "",
    stubs: tuple[str, ...] = (),
    length: int = 0,
) -> None:
    MODULES[name] = Case(
        repository, folder, source, make, spec, refusal, stubs, length or (1280 if spec == AUDIO else 61)
    )


class Missing(Exception):
    """Why the sources of a case are not there."""


def clone_of(repository: str) -> Path:
    """Its git directory."""
    if not (folder := os.environ.get("LONGWAVE_REPOSITORIES")):
        raise Missing("LONGWAVE_REPOSITORIES names no folder with clones OWNER+NAME")
    clone = Path(folder) / repository.replace("/", "+")
    for found in (clone / ".git", clone / "repo/.git", clone / "repo", clone):
        if (found / "objects").is_dir():
            return found
    raise Missing(f"{clone}: no clone of https://github.com/{repository}")


def extracted(repository: str, to: Path) -> Path:
    """Its Python files, at the commit of the table."""
    git = ["git", f"--git-dir={clone_of(repository)}", "archive", REPOSITORIES[repository], "--", ":(glob)**/*.py"]
    done = subprocess.run(git, capture_output=True)
    if done.returncode:
        raise Missing(f"{repository}: the clone has no commit {REPOSITORIES[repository]}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(to, filter="data")
    return to


class Stub(types.ModuleType):
    """Has every name; none of them does anything."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (nn.Module,), {})


@contextmanager
def sources(case: Case, to: Path) -> Iterator[types.ModuleType]:
    """The module of a case. What it imports is forgotten at the end: many repositories have a `model` and `utils`."""
    root = str(extracted(case.repository, to) / case.folder)
    known = dict(sys.modules)
    sys.path.insert(0, root)
    sys.modules.update({name: Stub(name) for name in case.stubs if name not in known})
    try:
        yield importlib.import_module(case.source)
    finally:
        sys.path.remove(root)
        for name, module in list(sys.modules.items()):
            if name not in known and (
                isinstance(module, Stub) or str(getattr(module, "__file__", "")).startswith(root)
            ):
                del sys.modules[name]


def image(module: nn.Module) -> nn.Module:
    """(1, T, bins) through a module of (1, 1, bins, T)."""
    return Of(lambda x, m: m["m"](x.mT[:, None])[0].permute(2, 0, 1)[None].flatten(2), m=module)


def time_first(module: nn.Module, bands: int, reads: int = 1) -> nn.Module:
    """(1, T, channels of all bands) through a module of (1, channels, T, bands), which reads it so many times."""
    return Of(
        lambda x, m: m["m"](*[x.unflatten(2, (-1, bands)).transpose(1, 2)] * reads).transpose(1, 2).flatten(2), m=module
    )


def of_columns(module: nn.Module) -> nn.Module:
    """(1, T) through a module of (T, 1, 1)."""
    return Of(lambda x, m: m["m"](x.T[:, :, None])[:, :, 0].T, m=module)


def first_of(module: nn.Module) -> nn.Module:
    return Of(lambda x, m: m["m"](x)[0], m=module)


# ---- denoisers

case(
    "DTLN in PyTorch",
    "lhwcv/DTLN_pytorch",
    "DTLN_model",
    lambda s: s.Pytorch_DTLN(64, 16),
    AUDIO,
    stubs=("audio_io",),
    refusal="its frames lie 48 samples ahead",
)
case("DTLN's mask", "lhwcv/DTLN_pytorch", "DTLN_model", lambda s: s.SeperationBlock(8, 6), stubs=("audio_io",))
case(
    "DTLN's norm",
    "lhwcv/DTLN_pytorch",
    "DTLN_model",
    lambda s: s.Pytorch_InstantLayerNormalization(8),
    stubs=("audio_io",),
)
case(
    "FullSubNet's causal convolution",
    "haoxiangsnr/FullSubNet",
    "audio_zen.model.module.causal_conv",
    lambda s: image(s.CausalConvBlock(1, 3, "ReLU")),
    IMAGE,
)
case(
    "FullSubNet's transposed convolution",
    "haoxiangsnr/FullSubNet",
    "audio_zen.model.module.causal_conv",
    lambda s: image(s.CausalTransConvBlock(1, 3)),
    IMAGE,
)
case(
    "FullSubNet's sequence model",
    "haoxiangsnr/FullSubNet",
    "audio_zen.model.module.sequence_model",
    lambda s: channels_first(s.SequenceModel(8, 5, 6, 2, False)),
)
case(
    "CRN",
    "haoxiangsnr/A-Convolutional-Recurrent-Neural-Network-for-Real-Time-Speech-Enhancement",
    "model.crn",
    lambda s: Of(lambda x, m: m["m"](x.mT[:, None])[0, 0].T[None], m=s.CRN()),
    "x=1xTx161",
)
case(
    "DCCRN's transform",
    "huyanxin/DeepComplexCRN",
    "conv_stft",
    lambda s: Of(lambda x, m: m["m"](x)[:, :, : x.shape[1] // 16].mT, m=s.ConvSTFT(32, 16, 32, "hann", "complex")),
    AUDIO,
)
case(
    "CMGAN's dense network",
    "ruizhecao96/CMGAN",
    "models.generator",
    lambda s: Of(
        lambda x, m: m["m"](x.reshape(1, -1, 4, 8).permute(0, 2, 1, 3)).permute(0, 2, 1, 3).flatten(2),
        m=s.DilatedDenseNet(2, 4),
    ),
    "x=1xTx32",
    folder="src",
)
case(
    "CMGAN's conformer",
    "ruizhecao96/CMGAN",
    "models.conformer",
    lambda s: s.ConformerBlock(dim=8, dim_head=4, heads=2),
    folder="src",
    refusal="in its result (1, 2, 79, 79) the axes 2 and 3 are time, as relative positions make it",
)
case(
    "Wave-U-Net for speech",
    "haoxiangsnr/Wave-U-Net-for-Speech-Enhancement",
    "model.unet_basic",
    lambda s: to_samples(s.Model(2, 3)),
    AUDIO,
    refusal="upsample_linear1d: no rule for it",
)
case("DeepVQE's encoder", "Xiaobin-Rong/deepvqe", "deepvqe", lambda s: time_first(s.EncoderBlock(1, 3), 33), IMAGE)
case(
    "DeepVQE's decoder", "Xiaobin-Rong/deepvqe", "deepvqe", lambda s: time_first(s.DecoderBlock(4, 3), 8, 2), "x=1xTx32"
)
case(
    "DeepVQE's bottleneck", "Xiaobin-Rong/deepvqe", "deepvqe", lambda s: time_first(s.Bottleneck(32, 6), 8), "x=1xTx32"
)
case(
    "DeepFilterNet's convolution",
    "Rikorose/DeepFilterNet",
    "modules",
    lambda s: time_first(s.Conv2dNormAct(1, 4, (3, 3), 2), 33),
    IMAGE,
    folder="DeepFilterNet/df",
    stubs=DEEP_FILTER,
)
case(
    "DeepFilterNet's recurrence",
    "Rikorose/DeepFilterNet",
    "modules",
    lambda s: first_of(s.SqueezedGRU(8, 6, 8, 1, 2)),
    folder="DeepFilterNet/df",
    stubs=DEEP_FILTER,
)

# ---- separation

case(
    "Conv-TasNet's separator, causal",
    "kaituoxu/Conv-TasNet",
    "conv_tasnet",
    lambda s: Of(lambda x, m: m["m"](x.mT)[:, 0].mT, m=s.TemporalConvNet(8, 6, 6, 3, 2, 1, 1, "cLN", True)),
    folder="src",
    stubs=("utils",),
)
case(
    "Conv-TasNet's separator, gLN",
    "kaituoxu/Conv-TasNet",
    "conv_tasnet",
    lambda s: Of(lambda x, m: m["m"](x.mT)[:, 0].mT, m=s.TemporalConvNet(8, 6, 6, 3, 2, 1, 1, "gLN", False)),
    folder="src",
    stubs=("utils",),
)
case(
    "Conv-TasNet",
    "kaituoxu/Conv-TasNet",
    "conv_tasnet",
    lambda s: Of(lambda x, m: m["m"](x)[:, 0], m=s.ConvTasNet(8, 16, 6, 6, 3, 2, 1, 1, "cLN", True)),
    AUDIO,
    folder="src",
    refusal="gives 159 rows of 160",
)
case(
    "causal SuDoRM-RF",
    "etzinis/sudo_rm_rf",
    "sudo_rm_rf.dnn.models.causal_improved_sudormrf_v3",
    lambda s: to_samples(s.CausalSuDORMRF(1, 6, 8, 1, 2, 9, 8, 1)),
    AUDIO,
    refusal="has more rows than the 326 that are complete",
)

case(
    "AudioDec's encoder",
    "facebookresearch/AudioDec",
    "models.autoencoder.modules.encoder",
    lambda s: of_samples(s.Encoder(1, 2, (2, 4), (2, 4))),
    AUDIO,
)
case(
    "AudioDec's decoder",
    "facebookresearch/AudioDec",
    "models.autoencoder.modules.decoder",
    lambda s: Of(lambda x, m: m["m"](x.mT)[:, 0], m=s.Decoder(8, 1, 2, (4, 2), (4, 2))),
    refusal="pads time with replicate",
)
case(
    "SoundStream's encoder",
    "wesbz/SoundStream",
    "net",
    lambda s: of_samples(s.Encoder(2, 4)),
    AUDIO,
    stubs=("vector_quantize_pytorch",),
    length=2560,
)
case(
    "SoundStream's residual unit",
    "wesbz/SoundStream",
    "net",
    lambda s: channels_first(s.ResidualUnit(8, 8, 3)),
    stubs=("vector_quantize_pytorch",),
)
case(
    "SoundStream's decoder",
    "wesbz/SoundStream",
    "net",
    lambda s: Of(lambda x, m: m["m"](x.mT)[:, 0], m=s.Decoder(2, 8)),
    stubs=("vector_quantize_pytorch",),
)
case(
    "MelGAN",
    "descriptinc/melgan-neurips",
    "mel2wav.modules",
    lambda s: Of(lambda x, m: m["m"](x.mT)[:, 0], m=s.Generator(8, 1, 1)),
    refusal="reflect",
    stubs=("librosa", "librosa.filters"),
)
case(
    "LLVC's encoder",
    "KoeAI/LLVC",
    "model",
    lambda s: Of(lambda x, m: m["m"](x.mT, m["m"].init_ctx_buf(1, "cpu"))[0].mT, m=s.DilatedCausalConvEncoder(8, 3)),
    stubs=(
        "speechbrain",
        "speechbrain.lobes",
        "speechbrain.lobes.models",
        "speechbrain.lobes.models.transformer",
        "speechbrain.lobes.models.transformer.Transformer",
    ),
)
case("AutoVC's decoder", "auspicious3000/autovc", "model_vc", lambda s: s.Decoder(2, 4, 6))
case(
    "WaveNet vocoder's layer",
    "r9y9/wavenet_vocoder",
    "wavenet_vocoder.modules",
    lambda s: Of(lambda x, m: m["m"](x.mT)[0].mT, m=s.ResidualConv1dGLU(8, 12, 3, dilation=2)),
)

# ---- amplifiers and effects

case(
    "PedalNet for real time",
    "GuitarML/PedalNetRT",
    "model",
    lambda s: Of(lambda x, m: m["m"](x[:, None])[:, 0], m=s.WaveNet(4, 3, 1, 3)),
    AUDIO,
    stubs=("pytorch_lightning",),
)
case(
    "PedalNet",
    "teddykoker/pedalnet",
    "model",
    lambda s: Of(lambda x, m: m["m"](x[:, None])[:, 0], m=s.WaveNet(4, 3, 1, 3)),
    AUDIO,
    stubs=("pytorch_lightning",),
    refusal="gives 1278 rows of 1280",
)
case(
    "micro-TCN",
    "csteinmetz1/micro-tcn",
    "tcn_bare",
    lambda s: Of(
        lambda x, m: m["m"](nn.functional.pad(x[:, None], (26, 0)))[:, 0],
        m=s.TCNModel(0, nblocks=3, dilation_growth=3, channel_width=4),
    ),
    AUDIO,
    folder="microtcn",
    refusal="its operands do not lie in step",
)

case(
    "GCN of a fuzz pedal",
    "mcomunita/gcn-tfilm",
    "src.gcn",
    lambda s: of_columns(s.GCN(1, 3, 4, 3, 2)),
    AUDIO,
    stubs=("src.utils",),
    refusal="gives 1278 rows of 1280",
)
case(
    "CoreAudioML's WaveNet",
    "Alec-Wright/CoreAudioML",
    "networks",
    lambda s: of_columns(s.GatedConvNet(4, 2, 3)),
    AUDIO,
    stubs=CORE_AUDIO,
)
case(
    "CoreAudioML's LSTM",
    "Alec-Wright/CoreAudioML",
    "networks",
    lambda s: of_columns(s.SimpleRNN(hidden_size=6)),
    AUDIO,
    stubs=CORE_AUDIO,
    refusal="m.m.hidden: keeps state between calls",
)

# ---- keywords and other sequences

case(
    "honk's res8",
    "castorini/honk",
    "utils.model",
    lambda s: s.SpeechResModel(
        {"n_labels": 5, "n_layers": 4, "n_feature_maps": 6, "res_pool": (4, 3), "use_dilation": False}
    ),
    "x=1xTx12",
    stubs=("chainmap", "librosa", "utils.manage_audio"),
)

case("wekws's TCN", "wenet-e2e/wekws", "wekws.model.tcn", lambda s: first_of(s.TCN(2, 8, 3, 0.1, s.DsCnnBlock)))
case(
    "FSMN",
    "wenet-e2e/wekws",
    "wekws.model.fsmn",
    lambda s: first_of(s.FSMN(8, 6, 1, 6, 5, 3, 1, 1, 1, 6, 4)),
    refusal="reads the zeros that pad the time axis",
)
case(
    "BC-ResNet",
    "Qualcomm-AI-research/bcresnet",
    "bcresnet",
    lambda s: Of(lambda x, m: m["m"](x.mT[:, None]), m=s.BCResNets(8, 5)),
    "x=1xTx40",
)
case("TCN", "locuslab/TCN", "tcn", lambda s: channels_first(s.TemporalConvNet(8, [6, 6], 3)), folder="TCN")
case(
    "xLSTM's convolution",
    "NX-AI/xlstm",
    "conv",
    lambda s: s.CausalConv1d(s.CausalConv1dConfig(8)),
    folder="xlstm/components",
)
case(
    "S4D",
    "state-spaces/s4",
    "models.s4.s4d",
    lambda s: first_of(s.S4D(8, 4, transposed=False, dt_min=0.2, dt_max=0.5)),
    stubs=("src", "src.models", "src.models.nn"),
)
case(
    "Mamba, minimal",
    "johnma2006/mamba-minimal",
    "model",
    lambda s: s.MambaBlock(s.ModelArgs(8, 1, 16, 4)),
    refusal="a loop over the rows",
)
