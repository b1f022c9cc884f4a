"""S4D: a diagonal state-space layer, run as an FFT convolution, and a model of three of them."""

import math

import torch
from torch import Tensor, nn


class S4D(nn.Module):
    def __init__(self, width: int, states: int = 32, dt_min: float = 0.01, dt_max: float = 0.1) -> None:
        super().__init__()
        self.log_dt = nn.Parameter(torch.rand(width) * math.log(dt_max / dt_min) + math.log(dt_min))
        self.log_decay = nn.Parameter(torch.full((width, states), 0.5).log())
        self.frequency = nn.Parameter(math.pi * torch.arange(states).repeat(width, 1))
        self.C = nn.Parameter(torch.randn(width, states, 2) * 0.5)
        self.D = nn.Parameter(torch.randn(width))
        self.output = nn.Sequential(nn.Dropout(0.1), nn.Conv1d(width, 2 * width, 1), nn.GLU(dim=1))

    def kernel(self, taps: int) -> Tensor:
        a = torch.complex(-self.log_decay.exp(), self.frequency)
        step = a * self.log_dt.exp()[:, None]
        c = torch.view_as_complex(self.C) * (step.exp() - 1) / a
        powers = (step[..., None] * torch.arange(taps, device=step.device)).exp()
        return 2 * torch.einsum("hn,hnl->hl", c, powers).real

    def forward(self, u: Tensor) -> Tensor:  # (batch, width, rows)
        n = u.shape[-1]
        k = torch.fft.rfft(self.kernel(n), n=2 * n)
        y = torch.fft.irfft(torch.fft.rfft(u, n=2 * n) * k, n=2 * n)[..., :n]
        return self.output(nn.functional.gelu(y + self.D[:, None] * u))


class S4DModel(nn.Module):
    """A value for each row, such as an electrocardiogram to its phase."""

    def __init__(self, inputs: int = 2, width: int = 16, depth: int = 3, outputs: int = 1) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(inputs, width), nn.Linear(width, outputs)
        self.layers = nn.ModuleList(S4D(width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:  # (batch, rows, inputs)
        x = self.encoder(x)
        for layer, norm in zip(self.layers, self.norms):
            x = norm(x + layer(x.transpose(1, 2)).transpose(1, 2))
        return self.decoder(x)


def example() -> tuple[nn.Module, Tensor]:
    return S4DModel().eval(), torch.randn(1, 1000, 2)
