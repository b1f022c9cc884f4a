"""Speech layers of other repositories, restated in short: codecs, enhancers, spotters, front ends.

MODULES: as in outside_sequence.py.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from outside_sequence import Of, causal_norm
from torch import Tensor, nn

AUDIO = "wave=1xT@8000"


def behind(x: Tensor, rows: int) -> Tensor:
    """Zeros in front of the last axis."""
    return F.pad(x, (rows, 0))


def windows(x: Tensor, size: int, hop: int) -> Tensor:
    """(1, frames, size), the frame of each hop with the samples before it."""
    return behind(x, size - hop).unfold(1, size, hop)


def overlapped(frames: Tensor, hop: int) -> Tensor:
    """(1, frames, size) added to (1, samples)."""
    size, count = frames.shape[2], frames.shape[1]
    return F.fold(frames.mT, (1, (count - 1) * hop + size), (1, size), stride=(1, hop))[:, 0, 0, : count * hop]


def conv_tasnet(x: Tensor, m) -> Tensor:
    """Learned codec of 16 samples, cLN, a block of the separator, a mask, a transposed convolution."""
    w = F.relu(m["enc"](behind(x[:, None], 8)))
    y = m["one"](causal_norm(w.mT, m).mT)
    y = m["last"](
        causal_norm(
            F.prelu(
                m["depth"](behind(F.prelu(y, torch.tensor([0.2], dtype=x.dtype)), 4)),
                torch.tensor([0.2], dtype=x.dtype),
            ).mT,
            m,
        ).mT
    )
    return m["dec"](w * y.sigmoid())[:, 0, : x.shape[1] // 8 * 8]


def demucs(x: Tensor, m) -> Tensor:
    """Causal Demucs of two levels: convolutions with a GLU, an LSTM, transposed convolutions, skips."""
    a = F.glu(m["a2"](F.relu(m["a1"](behind(x[:, None], 4)))), 1)
    b = F.glu(m["b2"](F.relu(m["b1"](behind(a, 4)))), 1)
    h = m["lstm"](b.mT)[0].mT + b
    h = F.relu(m["b4"](F.glu(m["b3"](h), 1))[..., : 4 * h.shape[2]])
    h = F.glu(m["a3"](h + a), 1)
    return m["a4"](h)[:, 0, : 4 * h.shape[2]]


def encodec_encoder(x: Tensor, m, mode: str = "constant") -> Tensor:
    y = m["first"](F.pad(x[:, None], (6, 0), mode=mode))
    r = m["r2"](F.elu(m["r1"](F.pad(F.elu(y), (2, 0), mode=mode))))
    y = m["down"](F.pad(F.elu(y + r), (4, 0), mode=mode))
    y = y + m["lstm"](y.mT)[0].mT
    return m["out"](F.pad(F.elu(y), (2, 0), mode=mode)).mT


def encodec_decoder(x: Tensor, m) -> Tensor:
    y = m["first"](behind(x.mT, 2))
    y = m["up"](F.elu(y))[..., : 4 * x.shape[1]]
    y = y + m["r2"](F.elu(m["r1"](behind(F.elu(y), 2))))
    return m["out"](behind(F.elu(y), 6)).mT


def snake(x: Tensor, a: Tensor) -> Tensor:
    return x + (a + 1e-9).reciprocal() * torch.sin(a * x).pow(2)


def descript(x: Tensor, m) -> Tensor:
    a = torch.linspace(0.5, 2, 6, dtype=x.dtype)[None, :, None]
    y = m["first"](behind(x[:, None], 6))
    y = y + m["r2"](snake(m["r1"](behind(snake(y, a), 6)), a))
    return m["down"](behind(snake(y, a), 4)).mT


def vocos_head(x: Tensor, m) -> Tensor:
    """Magnitude and phase of each row, an inverse transform, overlap-add."""
    mag, phase = m["out"](x).chunk(2, -1)
    mag = mag.exp().clip(max=1e2)
    s = torch.complex(mag * phase.cos(), mag * phase.sin())
    return overlapped(torch.fft.irfft(s, 16) * torch.hann_window(16, dtype=x.dtype), 4)


def dtln(x: Tensor, m) -> Tensor:
    s = torch.fft.rfft(windows(x, 32, 8))
    mask = m["mask"](m["lstm"](s.abs())[0]).sigmoid()
    frames = torch.fft.irfft(torch.polar(s.abs() * mask, s.angle()), 32)
    y = m["enc"](frames)
    mask = m["mask2"](m["lstm2"](F.layer_norm(y, (24,)))[0]).sigmoid()
    return overlapped(m["dec"](y * mask), 8)


def rnnoise(x: Tensor, m) -> Tensor:
    """Gains of bands from three GRUs that read each other."""
    d = m["d"](x).tanh()
    vad = m["v"](d)[0]
    noise = m["n"](torch.cat([d, vad, x], -1))[0]
    return m["g"](m["r"](torch.cat([vad, noise, x], -1))[0]).sigmoid()


def bc_resnet(x: Tensor, m) -> Tensor:
    """Frequencies, their mean, time, and both added."""
    y = x.mT.unflatten(1, (1, -1))  # (1, 1, F, T)
    y = F.relu(m["f"](m["first"](y)))
    t = F.silu(m["t"](F.pad(y.mean(2, keepdim=True), (2, 0))))
    return F.relu(y + t).flatten(1, 2).mT


def unet(x: Tensor, m) -> Tensor:
    """Convolutions of (2, 3) over time and frequency, down and up again, with a skip."""
    y = x[:, None]
    a = F.elu(m["a"](F.pad(y, (0, 0, 1, 0))))
    b = F.elu(m["b"](F.pad(a, (0, 0, 1, 0))))
    u = F.elu(m["u"](b)[:, :, : b.shape[2]])
    return m["o"](torch.cat([u, a], 1)[:, :, : b.shape[2]])[:, :, : b.shape[2]].squeeze(1)


def mel_400(x: Tensor, m) -> Tensor:
    """torchaudio's: Hann window of 400, hop of 160, center=False behind zeros."""
    s = torch.stft(
        behind(x, 240), 400, 160, window=torch.hann_window(400, dtype=x.dtype), center=False, return_complex=True
    )
    return torch.log(m["mel"](s.abs().square().mT).relu() + 1e-6)


def mfcc(x: Tensor, m) -> Tensor:
    k = torch.arange(10, dtype=x.dtype)
    dct = torch.cos(math.pi / 10 * (k + 0.5) * k[:, None])
    return mel_400(x, m) @ dct.T


def kaldi_fbank(x: Tensor, m) -> Tensor:
    """Frames of 200 without their mean, pre-emphasis with a copy of the first sample, a Povey window, a transform of 256."""
    f = windows(x, 200, 80)
    f = f - f.mean(-1, keepdim=True)
    f = f - 0.97 * F.pad(f, (1, 0), mode="replicate")[..., :-1]
    f = F.pad(f * torch.hann_window(200, periodic=False, dtype=x.dtype).pow(0.85), (0, 56))
    return torch.log(m["mel"](torch.fft.rfft(f).abs().pow(2.0)).relu().clamp(min=1e-7))


def mean_removal(x: Tensor, m) -> Tensor:
    y = mel_400(x, m)
    return y - y.cumsum(1) / torch.arange(1, y.shape[1] + 1, dtype=x.dtype)[:, None]


def dccrn(x: Tensor, m) -> Tensor:
    """A complex convolution of a spectrum, and a complex mask."""
    s = torch.fft.rfft(windows(x, 16, 8))
    re, im = (F.pad(t[:, None], (0, 0, 1, 0)) for t in (s.real, s.imag))
    a, b = m["re"](re) - m["im"](im), m["re"](im) + m["im"](re)
    mask = torch.complex(a[:, 0].tanh(), b[:, 0].tanh())
    return overlapped(torch.fft.irfft(s * mask, 16), 8)


def deep_filter(x: Tensor, m) -> Tensor:
    """DeepFilterNet: complex coefficients for this frame and the two before it."""
    s = torch.fft.rfft(windows(x, 16, 8))
    c = torch.view_as_complex(m["c"](s.abs()).tanh().unflatten(2, (3, 9, 2)).contiguous())
    padded = torch.view_as_complex(F.pad(torch.view_as_real(s), (0, 0, 0, 0, 2, 0)))
    y = sum(c[:, :, k] * padded[:, k : k + s.shape[1]] for k in range(3))
    return overlapped(torch.fft.irfft(y, 16), 8)


def hifigan(x: Tensor, m) -> Tensor:
    y = F.leaky_relu(m["first"](x.mT), 0.1)
    y = m["up"](y)
    r = m["r2"](F.leaky_relu(m["r1"](F.leaky_relu(y, 0.1)), 0.1))
    return m["out"](F.leaky_relu(y + r, 0.1)).tanh().mT


def crnn(x: Tensor, m) -> Tensor:
    y = F.relu(m["bn"](m["conv"](F.pad(x[:, None], (1, 1, 2, 0)))))
    y = F.max_pool2d(y, (1, 2))
    return m["gru"](y.transpose(1, 2).flatten(2))[0]


def res2net(x: Tensor, m) -> Tensor:
    """ECAPA's block: parts of the channels, each added to the next."""
    parts, made = x.mT.chunk(4, 1), []
    for i, part in enumerate(parts):
        y = part if i == 0 else m[f"c{i}"](behind(part if i == 1 else part + made[-1], 2)).relu()
        made.append(y)
    return torch.cat(made, 1).mT


def sinc(x: Tensor, m) -> Tensor:
    """SincNet: band passes from two frequencies each."""
    low = torch.tensor([0.05, 0.1, 0.2], dtype=x.dtype)[:, None]
    n = torch.arange(-15, 16, dtype=x.dtype)
    taps = 2 * (low + 0.1) * torch.sinc(2 * (low + 0.1) * n) - 2 * low * torch.sinc(2 * low * n)
    return (
        F.conv1d(behind(x[:, None], 30), (taps * torch.hamming_window(31, periodic=False, dtype=x.dtype))[:, None])
        .abs()
        .mT
    )


def deltas(x: Tensor, m) -> Tensor:
    """torchaudio's ComputeDeltas copies rows at the ends."""
    y = F.pad(x.mT, (2, 2), mode="replicate")
    return F.conv1d(y, torch.arange(-2.0, 3.0, dtype=x.dtype).expand(8, 1, 5) / 10, groups=8).mT


def citrinet(x: Tensor, m) -> Tensor:
    y = m["p"](m["d"](behind(x.mT, 4)))
    n = torch.arange(1, y.shape[2] + 1, dtype=x.dtype)
    return F.relu(y * m["b"](F.relu(m["a"]((y.cumsum(-1) / n).mT))).sigmoid().mT).mT


def wave_unet(x: Tensor, m) -> Tensor:
    a = F.leaky_relu(m["a"](behind(x[:, None], 4)))
    b = F.leaky_relu(m["b"](behind(a[..., 1::2], 4)))
    u = F.interpolate(b, scale_factor=2)
    return m["o"](torch.cat([u, a[..., : u.shape[2]]], 1))[:, 0].tanh()


def dual_path(x: Tensor, m) -> Tensor:
    """A GRU over the frequencies of each row."""
    y = x.unflatten(2, (4, 2))[0]
    return m["gru"](y)[0].flatten(1)[None]


def quartznet(x: Tensor, m) -> Tensor:
    y = m["bn"](m["p"](m["d"](behind(x.mT, 10))))
    return F.relu(y + m["s"](x.mT)).mT


def attentive_pool(x: Tensor, m) -> Tensor:
    w = m["b"](m["a"](x).tanh()).softmax(1)
    mean = (w * x).sum(1)
    return torch.cat([mean, ((w * x.square()).sum(1) - mean.square()).clamp(min=1e-4).sqrt()], -1)


C, C2, L = nn.Conv1d, nn.Conv2d, nn.Linear
MODULES = {
    "Conv-TasNet with its codec": (
        Of(
            conv_tasnet,
            enc=C(1, 8, 16, 8, bias=False),
            one=C(8, 6, 1),
            depth=C(6, 6, 3, dilation=2, groups=6),
            last=C(6, 8, 1),
            dec=nn.ConvTranspose1d(8, 1, 16, 8, bias=False),
        ),
        AUDIO,
        "",
        "listed",
    ),
    "causal Demucs": (
        Of(
            demucs,
            a1=C(1, 4, 8, 4),
            a2=C(4, 8, 1),
            b1=C(4, 6, 8, 4),
            b2=C(6, 12, 1),
            lstm=nn.LSTM(6, 6, 2, batch_first=True),
            b3=C(6, 12, 1),
            b4=nn.ConvTranspose1d(6, 4, 8, 4),
            a3=C(4, 8, 1),
            a4=nn.ConvTranspose1d(4, 1, 8, 4),
        ),
        AUDIO,
        "",
        "listed",
    ),
    "EnCodec encoder, zeros": (
        Of(
            encodec_encoder,
            first=C(1, 6, 7),
            r1=C(6, 3, 3),
            r2=C(3, 6, 1),
            down=C(6, 8, 8, 4),
            lstm=nn.LSTM(8, 8, batch_first=True),
            out=C(8, 5, 3),
        ),
        AUDIO,
        "",
        "other",
    ),
    "EnCodec encoder, its padding": (
        Of(
            lambda x, m: encodec_encoder(x, m, "reflect"),
            first=C(1, 6, 7),
            r1=C(6, 3, 3),
            r2=C(3, 6, 1),
            down=C(6, 8, 8, 4),
            lstm=nn.LSTM(8, 8, batch_first=True),
            out=C(8, 5, 3),
        ),
        AUDIO,
        "pads time with reflect",
        "listed",
    ),
    "EnCodec decoder": (
        Of(
            encodec_decoder,
            first=C(5, 8, 3),
            up=nn.ConvTranspose1d(8, 6, 8, 4),
            r1=C(6, 3, 3),
            r2=C(3, 6, 1),
            out=C(6, 1, 7),
        ),
        "x=1xTx5",
        "",
        "listed",
    ),
    "Descript codec": (
        Of(descript, first=C(1, 6, 7), r1=C(6, 6, 7), r2=C(6, 6, 1), down=C(6, 8, 8, 4)),
        AUDIO,
        "",
        "listed",
    ),
    "Vocos head": (Of(vocos_head, out=L(6, 18)), "x=1xTx6", "", "listed"),
    "DTLN": (
        Of(
            dtln,
            lstm=nn.LSTM(17, 8, 2, batch_first=True),
            mask=L(8, 17),
            enc=L(32, 24, bias=False),
            lstm2=nn.LSTM(24, 8, 2, batch_first=True),
            mask2=L(8, 24),
            dec=L(24, 32, bias=False),
        ),
        AUDIO,
        "",
        "listed",
    ),
    "RNNoise": (
        Of(
            rnnoise,
            d=L(9, 6),
            v=nn.GRU(6, 4, batch_first=True),
            n=nn.GRU(19, 5, batch_first=True),
            r=nn.GRU(18, 6, batch_first=True),
            g=L(6, 9),
        ),
        "x=1xTx9",
        "",
        "listed",
    ),
    "BC-ResNet": (
        Of(bc_resnet, first=C2(1, 4, 1), f=C2(4, 4, (3, 1), padding=(1, 0), groups=4), t=C2(4, 4, (1, 3), groups=4)),
        "x=1xTx8",
        "",
        "listed",
    ),
    "spectrogram U-Net": (
        Of(
            unet,
            a=C2(1, 4, (2, 3), (1, 2), (0, 1)),
            b=C2(4, 6, (2, 3), (1, 2), (0, 1)),
            u=nn.ConvTranspose2d(6, 4, (2, 3), (1, 2), (0, 1)),
            o=nn.ConvTranspose2d(8, 1, (2, 3), (1, 2), (0, 1)),
        ),
        "x=1xTx17",
        "",
        "listed",
    ),
    "MelSpectrogram of 400": (Of(mel_400, mel=L(201, 10, bias=False)), AUDIO, "", "listed"),
    "MFCC of 400": (Of(mfcc, mel=L(201, 10, bias=False)), AUDIO, "", "listed"),
    "Kaldi fbank": (Of(kaldi_fbank, mel=L(129, 8, bias=False)), AUDIO, "", "listed"),
    "fbank with a running mean": (Of(mean_removal, mel=L(201, 10, bias=False)), AUDIO, "", "listed"),
    "DCCRN": (Of(dccrn, re=C2(1, 1, (2, 3), padding=(0, 1)), im=C2(1, 1, (2, 3), padding=(0, 1))), AUDIO, "", "other"),
    "DeepFilterNet's filter": (Of(deep_filter, c=L(9, 54)), AUDIO, "", "other"),
    "HiFi-GAN": (
        Of(
            hifigan,
            first=C(6, 8, 7, padding=3),
            up=nn.ConvTranspose1d(8, 4, 8, 4, 2),
            r1=C(4, 4, 3, padding=1),
            r2=C(4, 4, 3, padding=3, dilation=3),
            out=C(4, 1, 7, padding=3),
        ),
        "x=1xTx6",
        "",
        "other",
    ),
    "CRNN": (
        Of(crnn, conv=C2(1, 4, 3), bn=nn.BatchNorm2d(4), gru=nn.GRU(16, 6, batch_first=True)),
        "x=1xTx8",
        "",
        "other",
    ),
    "ECAPA's Res2Net": (Of(res2net, c1=C(2, 2, 3), c2=C(2, 2, 3), c3=C(2, 2, 3)), "x=1xTx8", "", "other"),
    "SincNet": (Of(sinc), AUDIO, "", "other"),
    "ComputeDeltas": (Of(deltas), "x=1xTx8", "pads time with replicate", "other"),
    "Citrinet, causal": (
        Of(citrinet, d=C(8, 8, 5, groups=8), p=C(8, 8, 1), a=L(8, 4), b=L(4, 8)),
        "x=1xTx8",
        "",
        "other",
    ),
    "Wave-U-Net": (Of(wave_unet, a=C(1, 4, 5), b=C(4, 6, 5), o=C(10, 1, 1)), AUDIO, "", "other"),
    "QuartzNet": (
        Of(quartznet, d=C(8, 8, 11, groups=8), p=C(8, 8, 1), s=C(8, 8, 1), bn=nn.BatchNorm1d(8)),
        "x=1xTx8",
        "",
        "other",
    ),
    "attentive statistics": (Of(attentive_pool, a=L(8, 4), b=L(4, 8)), "x=1xTx8", "", "other"),
}
