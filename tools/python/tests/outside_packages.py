"""Modules of packages of other people, as they are, small and with random weights.

MODULES: name -> Case. Packages are imported when a case is made, so that a missing one skips its cases only. Kind "listed": was
refused before attention, positions and products had rules. Kind "recurrence": a state whose factor depends on the input. Kind "other": chosen
beside them.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

import torch
from outside_sequence import Of
from torch import Tensor, nn

# Their dependencies too, without other versions of torch.
INSTALL = {
    "asteroid": "asteroid==0.7.0 asteroid-filterbanks==0.4.0 requests torchmetrics lightning-utilities",
    "conformer": "conformer==0.3.2 einops==0.8.2",
    "dac": "descript-audio-codec==1.0.0 einops==0.8.2",
    "denoiser": "denoiser==0.1.5 julius==0.2.8",
    "encodec": "encodec==0.1.1 einops==0.8.2 torchaudio==2.11.0",
    "linear_attention_transformer": "linear-attention-transformer==0.19.1 linformer==0.2.3 product-key-memory "
    "axial-positional-embedding colt5-attention local-attention==1.11.2 einops==0.8.2",
    "minGRU_pytorch": "minGRU-pytorch==0.2.1 einops==0.8.2",
    "nnAudio": "nnAudio==0.3.4 scipy",
    "pytorch_tcn": "pytorch-tcn==1.2.3",
    "snac": "snac==1.2.1 einops==0.8.2",
    "speechbrain": "speechbrain==1.1.2 HyperPyYAML==1.2.2 ruamel.yaml==0.18.6 joblib sentencepiece requests pandas",
    "torchaudio": "torchaudio==2.11.0",
    "transformers": "transformers==5.23.0 regex requests",
    "vocos": "vocos==0.1.0 encodec==0.1.1 torchaudio==2.11.0 einops==0.8.2",
    "x_transformers": "x-transformers==2.31.10 einops==0.8.2 einx loguru",
    "yet_another_retnet": "yet-another-retnet==0.5.1 einops==0.8.2",
}
AUDIO = "wave=1xT@8000"


@dataclass
class Case:
    package: str
    make: Callable[[], nn.Module]
    spec: str
    refusal: str  # what the error says; empty: the import is equal
    kind: str
    length: int


MODULES: dict[str, Case] = {}


def case(
    name: str, package: str, spec: str = "x=1xTx8", refusal: str = "", kind: str = "other", length: int = 0
) -> Callable:
    def keep(make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
        MODULES[name] = Case(package, make, spec, refusal, kind, length or (1280 if spec == AUDIO else 61))
        return make

    return keep


def without_compiled_part() -> None:
    """torchaudio's compiled part fits one version of torch. No module here needs it."""
    if "torchaudio" in sys.modules:
        return
    part = types.ModuleType("torchaudio._extension")
    part.__path__ = []
    part._IS_TORCHAUDIO_EXT_AVAILABLE = part._IS_ALIGN_AVAILABLE = part._IS_RIR_AVAILABLE = False
    part.fail_if_no_align = lambda f: f
    sys.modules["torchaudio._extension"] = part


def channels_first(module: nn.Module) -> nn.Module:
    """(1, T, channels) through a module of (1, channels, T)."""
    return Of(lambda x, m: m["m"](x.mT).mT, m=module)


def of_samples(module: nn.Module, behind: int = 0) -> nn.Module:
    """(1, samples) through a module of (1, 1, samples) that gives (1, channels, T). `behind`: zeros in front."""
    return Of(lambda x, m: m["m"](nn.functional.pad(x[:, None], (behind, 0))).mT, m=module)


def to_samples(module: nn.Module) -> nn.Module:
    """The same that gives (1, 1, samples)."""
    return Of(lambda x, m: m["m"](x[:, None])[:, 0], m=module)


def hidden(n: int) -> Tensor:
    return torch.full((n, n), float("-inf")).triu(1)


# ---- asteroid


def tdconvnet(norm: str, causal: bool) -> nn.Module:
    from asteroid.masknn import TDConvNet

    return channels_first(
        TDConvNet(8, 1, n_blocks=2, n_repeats=1, bn_chan=6, hid_chan=6, skip_chan=6, norm_type=norm, causal=causal)
    )


@case("asteroid TDConvNet, cLN", "asteroid")
def _() -> nn.Module:
    return Of(lambda x, m: m["m"](x)[:, 0], m=tdconvnet("cLN", True))


@case("asteroid TDConvNet, cgLN", "asteroid", kind="listed")
def _() -> nn.Module:
    return Of(lambda x, m: m["m"](x)[:, 0], m=tdconvnet("cgLN", True))


@case("asteroid TDConvNet, gLN", "asteroid", kind="listed")
def _() -> nn.Module:
    return Of(lambda x, m: m["m"](x)[:, 0], m=tdconvnet("gLN", False))


@case("asteroid Conv1DBlock", "asteroid")
def _() -> nn.Module:
    from asteroid.masknn.convolutional import Conv1DBlock

    return Of(lambda x, m: m["m"](x.mT)[0].mT, m=Conv1DBlock(8, 6, 6, 3, 2, 1, "cLN", True))


@case("asteroid SingleRNN", "asteroid")
def _() -> nn.Module:
    from asteroid.masknn.recurrent import SingleRNN

    return SingleRNN("LSTM", 8, 6)


@case("asteroid StackedResidualRNN", "asteroid")
def _() -> nn.Module:
    from asteroid.masknn.recurrent import StackedResidualRNN

    return StackedResidualRNN("GRU", 8, 2)


@case("asteroid analytic free filters", "asteroid", AUDIO)
def _() -> nn.Module:
    from asteroid_filterbanks import AnalyticFreeFB, Encoder

    return of_samples(Encoder(AnalyticFreeFB(16, 16, 8)), 8)


# ---- denoisers and codecs


@case("denoiser Demucs, causal", "denoiser", AUDIO, refusal="looks 4 rows ahead", kind="listed")
def _() -> nn.Module:
    from denoiser.demucs import Demucs

    return to_samples(Demucs(hidden=4, depth=2, resample=1, normalize=False))


@case("denoiser BLSTM of one way", "denoiser")
def _() -> nn.Module:
    from denoiser.demucs import BLSTM

    return Of(lambda x, m: m["m"](x.transpose(0, 1))[0].transpose(0, 1), m=BLSTM(8, bi=False))


def encodec(part: str, **options) -> nn.Module:
    without_compiled_part()
    from encodec.modules import seanet

    return getattr(seanet, part)(dimension=6, n_filters=4, ratios=[4, 2], causal=True, lstm=1, **options)


@case("EnCodec encoder, zeros", "encodec", AUDIO, kind="listed")
def _() -> nn.Module:
    return of_samples(encodec("SEANetEncoder", pad_mode="constant"))


@case("EnCodec encoder, its padding", "encodec", AUDIO, refusal="reflect", kind="listed")
def _() -> nn.Module:
    return of_samples(encodec("SEANetEncoder"))


@case("EnCodec decoder", "encodec", "x=1xTx6", kind="listed")
def _() -> nn.Module:
    return Of(lambda x, m: m["m"](x.mT)[:, 0], m=encodec("SEANetDecoder", pad_mode="constant"))


def from_dac(name: str) -> type:
    """Its package imports tools for files, which no module here needs."""
    if "audiotools" not in sys.modules:
        tools, ml = types.ModuleType("audiotools"), types.ModuleType("audiotools.ml")
        tools.AudioSignal, tools.STFTParams, tools.ml = object, object, ml
        ml.BaseModel = type("BaseModel", (nn.Module,), {"INTERN": [], "EXTERN": []})
        sys.modules |= {"audiotools": tools, "audiotools.ml": ml, "dac.utils": types.ModuleType("dac.utils")}
    from dac.model import dac

    return getattr(dac, name)


@case("Descript residual unit", "dac", kind="listed")
def _() -> nn.Module:
    return channels_first(from_dac("ResidualUnit")(8, 3))


@case("Descript encoder", "dac", AUDIO, kind="listed")
def _() -> nn.Module:
    return of_samples(from_dac("Encoder")(4, [2, 4], 6))


@case("Descript decoder", "dac", "x=1xTx6")
def _() -> nn.Module:
    return Of(lambda x, m: m["m"](x.mT)[:, 0], m=from_dac("Decoder")(6, 8, [4, 2]))


@case("SNAC encoder", "snac", AUDIO)
def _() -> nn.Module:
    from snac.layers import Encoder

    return of_samples(Encoder(4, [2, 4], depthwise=True, attn_window_size=None))


@case("SNAC decoder", "snac", "x=1xTx6")
def _() -> nn.Module:
    from snac.layers import Decoder

    return Of(lambda x, m: m["m"](x.mT)[:, 0], m=Decoder(6, 8, [4, 2], depthwise=True, attn_window_size=None))


@case("Vocos backbone", "vocos")
def _() -> nn.Module:
    without_compiled_part()
    from vocos.models import VocosBackbone

    return Of(lambda x, m: m["m"](x.mT), m=VocosBackbone(8, 6, 12, 2))


@case("Vocos ISTFT head", "vocos", refusal="nothing may depend on the number of rows", kind="listed")
def _() -> nn.Module:
    without_compiled_part()
    from vocos.heads import ISTFTHead

    return ISTFTHead(8, 16, 4, padding="same")


# ---- torchaudio


def from_torchaudio(name: str, part: str = "transforms") -> type:
    without_compiled_part()
    import importlib

    return getattr(importlib.import_module(f"torchaudio.{part}"), name)


@case("torchaudio MelSpectrogram", "torchaudio", AUDIO, kind="listed")
def _() -> nn.Module:
    m = from_torchaudio("MelSpectrogram")(8000, n_mels=8, center=False)
    return Of(lambda x, m: m["m"](nn.functional.pad(x, (200, 0))).mT, m=m)


@case("torchaudio MelSpectrogram, its defaults", "torchaudio", AUDIO, refusal="a centred stft", kind="listed")
def _() -> nn.Module:
    return Of(lambda x, m: m["m"](x).mT, m=from_torchaudio("MelSpectrogram")(8000, n_mels=8))


@case("torchaudio MFCC", "torchaudio", AUDIO, kind="listed")
def _() -> nn.Module:
    m = from_torchaudio("MFCC")(8000, 6, melkwargs={"n_mels": 8, "center": False, "n_fft": 400, "hop_length": 160})
    return Of(lambda x, m: m["m"](nn.functional.pad(x, (240, 0))).mT, m=m)


@case("torchaudio Kaldi fbank", "torchaudio", AUDIO, kind="listed")
def _() -> nn.Module:
    kaldi = from_torchaudio("fbank", "compliance.kaldi")
    return Of(
        lambda x, m: kaldi(nn.functional.pad(x, (120, 0)), num_mel_bins=8, sample_frequency=8000.0, dither=0.0)[None]
    )


@case("torchaudio ComputeDeltas", "torchaudio", refusal="pads time with replicate")
def _() -> nn.Module:
    return channels_first(from_torchaudio("ComputeDeltas")())


@case("torchaudio ComputeDeltas, zeros", "torchaudio")
def _() -> nn.Module:
    return channels_first(from_torchaudio("ComputeDeltas")(mode="constant"))


@case("torchaudio Conformer with lengths", "torchaudio", kind="listed")
def _() -> nn.Module:
    m = from_torchaudio("Conformer", "models")(8, 2, 12, 1, 5)
    return Of(lambda x, m: m["m"](x, torch.full((1,), x.shape[1]))[0], m=m)


@case("torchaudio Conformer layer", "torchaudio")
def _() -> nn.Module:
    m = from_torchaudio("ConformerLayer", "models.conformer")(8, 12, 2, 5)
    return Of(lambda x, m: m["m"](x.transpose(0, 1), None).transpose(0, 1), m=m)


@case("torchaudio Emformer", "torchaudio", refusal="its rows are not one time step each", kind="listed")
def _() -> nn.Module:
    m = from_torchaudio("Emformer", "models")(8, 2, 12, 1, 4, right_context_length=1)
    return Of(lambda x, m: m["m"](x, torch.full((1,), x.shape[1] - 1))[0], m=m)


@case("torchaudio ConvTasNet", "torchaudio", AUDIO, refusal="has more rows than the 320", kind="listed")
def _() -> nn.Module:
    m = from_torchaudio("ConvTasNet", "models")(1, 8, 6, 3, 6, 6, 2, 1)
    return to_samples(m)


@case("torchaudio DeepSpeech", "torchaudio", refusal="a recurrence of relu")
def _() -> nn.Module:
    return Of(lambda x, m: m["m"](x[:, None]), m=from_torchaudio("DeepSpeech", "models")(8, 6, 5))


# ---- speechbrain


@case("speechbrain Conv1d, causal", "speechbrain")
def _() -> nn.Module:
    without_compiled_part()
    from speechbrain.nnet.CNN import Conv1d

    return Conv1d(6, 3, in_channels=8, padding="causal", dilation=2)


@case("speechbrain TDNN block", "speechbrain", refusal="pads time with reflect")
def _() -> nn.Module:
    without_compiled_part()
    from speechbrain.lobes.models.ECAPA_TDNN import TDNNBlock

    return channels_first(TDNNBlock(8, 6, 3, 1))


@case("speechbrain causal mask network", "speechbrain", "x=1xTx8")
def _() -> nn.Module:
    without_compiled_part()
    from speechbrain.lobes.models.conv_tasnet import MaskNet

    return Of(lambda x, m: m["m"](x.mT)[0].mT, m=MaskNet(8, 6, 6, 3, 2, 1, 1, "cLN", True))


@case("speechbrain Conv-TasNet encoder", "speechbrain", AUDIO, refusal="pads time with reflect")
def _() -> nn.Module:
    without_compiled_part()
    from speechbrain.lobes.models.conv_tasnet import Encoder

    return Of(lambda x, m: m["m"](nn.functional.pad(x, (8, 0))).mT, m=Encoder(16, 8))


@case("speechbrain conformer convolution, causal", "speechbrain")
def _() -> nn.Module:
    without_compiled_part()
    from speechbrain.lobes.models.transformer.Conformer import ConvolutionModule

    return ConvolutionModule(8, 5, causal=True)


@case("speechbrain statistics of ECAPA", "speechbrain")
def _() -> nn.Module:
    without_compiled_part()
    from speechbrain.lobes.models.ECAPA_TDNN import AttentiveStatisticsPooling

    return Of(lambda x, m: m["m"](x.mT)[..., 0], m=AttentiveStatisticsPooling(8, 4))


# ---- transformers


def of_transformers(architecture: str, recurrent: bool = False, **config) -> nn.Module:
    """The base model of a configuration, from embeddings to its last hidden rows."""
    without_compiled_part()
    import importlib

    family = architecture.lower()
    configuration = importlib.import_module(f"transformers.models.{family}.configuration_{family}")
    modeling = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    by_name = {name.lower(): name for name in dir(configuration)} | {name.lower(): name for name in dir(modeling)}
    known = getattr(configuration, by_name[f"{family.replace('_', '')}config"])(**config)
    known._attn_implementation = "eager" if recurrent else "sdpa"
    model = getattr(modeling, by_name[f"{family.replace('_', '')}model"])(known)
    return Of(lambda x, m: m["m"](inputs_embeds=x, use_cache=False)[0], m=model)


SMALL = {"hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 11}


@case("transformers Llama", "transformers", kind="listed")
def _() -> nn.Module:
    return of_transformers("llama", num_key_value_heads=1, **SMALL)


@case("transformers Mistral with its window", "transformers")
def _() -> nn.Module:
    return of_transformers("mistral", num_key_value_heads=1, sliding_window=16, head_dim=4, **SMALL)


@case("transformers GPT-2", "transformers", kind="listed")
def _() -> nn.Module:
    return of_transformers("gpt2", n_embd=8, n_layer=1, n_head=2, vocab_size=11, n_positions=512)


@case("transformers LFM2 with attention", "transformers", kind="listed")
def _() -> nn.Module:
    return of_transformers(
        "lfm2", num_key_value_heads=1, layer_types=["conv", "full_attention"], **SMALL | {"num_hidden_layers": 2}
    )


@case("transformers Mamba", "transformers", refusal="a loop over the rows", kind="recurrence")
def _() -> nn.Module:
    return of_transformers("mamba", recurrent=True, hidden_size=8, num_hidden_layers=1, vocab_size=11, state_size=4)


# ---- attention of other people


@case("x-transformers decoder, RMS norm and gates", "x_transformers")
def _() -> nn.Module:
    from x_transformers import Decoder

    return Decoder(dim=8, depth=1, heads=2, attn_dim_head=4, use_rmsnorm=True, ff_glu=True, ff_swish=True)


@case("x-transformers decoder, ALiBi", "x_transformers", refusal="adds numbers of its own to the scores")
def _() -> nn.Module:
    from x_transformers import Decoder

    return Decoder(dim=8, depth=1, heads=2, attn_dim_head=4, alibi_pos_bias=True)


@case("conformer convolution, causal", "conformer")
def _() -> nn.Module:
    from conformer import ConformerConvModule

    return ConformerConvModule(8, causal=True, kernel_size=5)


@case("linear attention transformer", "linear_attention_transformer")
def _() -> nn.Module:
    from linear_attention_transformer.linear_attention_transformer import SelfAttention

    return SelfAttention(8, 2, causal=True)


@case("RetNet of yet-another-retnet", "yet_another_retnet", "x=1xTx16", kind="listed")
def _() -> nn.Module:
    from yet_another_retnet.retention import MultiScaleRetention

    return Of(lambda x, m: m["m"](x, x, x)[0], m=MultiScaleRetention(16, 2))


# ---- recurrences and convolutions


@case("pytorch-tcn TCN", "pytorch_tcn")
def _() -> nn.Module:
    from pytorch_tcn import TCN

    return TCN(8, [6, 6], kernel_size=3, causal=True, input_shape="NLC")


@case("pytorch-tcn TCN with gates and skips", "pytorch_tcn")
def _() -> nn.Module:
    from pytorch_tcn import TCN

    return TCN(8, [6, 6], kernel_size=3, causal=True, input_shape="NLC", use_gate=True, use_skip_connections=True)


@case("minGRU", "minGRU_pytorch", kind="recurrence")
def _() -> nn.Module:
    from minGRU_pytorch import minGRU

    return minGRU(8)


@case("nnAudio STFT", "nnAudio", AUDIO)
def _() -> nn.Module:
    from nnAudio.features import STFT

    m = STFT(32, hop_length=16, center=False, output_format="Magnitude", verbose=False)
    return Of(lambda x, m: m["m"](nn.functional.pad(x, (16, 0))).mT, m=m)
