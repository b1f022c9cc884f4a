"""The graph of Silero VAD as a module, with the weights of its TorchScript file."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

UNITS = 128


class Silero(nn.Module):
    """(1, context and new samples) and (2, 1, 128) -> (1, 1) and (2, 1, 128). `basis`: windowed cosines and sines, one row each."""

    def __init__(self, basis: Tensor) -> None:
        super().__init__()
        self.basis = nn.Parameter(basis)
        self.bins, self.window = basis.shape[0] // 2, basis.shape[-1]
        widths = ((self.bins, 128, 1), (128, 64, 2), (64, 64, 2), (64, UNITS, 1))
        self.encoder = nn.ModuleList(nn.Conv1d(i, o, 3, stride, 1) for i, o, stride in widths)
        self.rnn, self.last = nn.LSTM(UNITS, UNITS, batch_first=True), nn.Conv1d(UNITS, 1, 1)

    def forward(self, audio: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        padded = F.pad(audio[:, None], (0, self.window // 4), "reflect")
        x = F.conv1d(padded, self.basis, stride=self.window // 2)
        x = (x[:, : self.bins] ** 2 + x[:, self.bins :] ** 2).sqrt()
        for conv in self.encoder:
            x = conv(x).relu()
        y, (h, c) = self.rnn(x.mT, (state[:1], state[1:]))
        return self.last(y.relu().mT).sigmoid().mean(-1), torch.cat([h, c])


def module_of(file: Path, rate: int) -> Silero:
    """`file`: one whose content is known, because a TorchScript archive is a program."""
    part = "_model." if rate == 16000 else "_model_8k."
    archive = torch.jit.load(str(file), map_location="cpu")
    held = {**dict(archive.named_parameters()), **dict(archive.named_buffers())}
    state = {name.removeprefix(part): t.detach() for name, t in held.items() if name.startswith(part)}
    module = Silero(state.pop("stft.forward_basis_buffer"))
    renamed = {"basis": module.basis.detach()}
    for name, tensor in state.items():
        if name.startswith("decoder.rnn."):
            name = name.removeprefix("decoder.") + "_l0"
        renamed[name.replace("reparam_conv.", "").replace("decoder.decoder.2.", "last.")] = tensor
    module.load_state_dict(renamed)
    return module.eval()
