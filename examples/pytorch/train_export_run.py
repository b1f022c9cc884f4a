"""Trains a small model for a minute, compiles it, runs it offline and as a stream, and compares all three.

    pip install torch safetensors longwave
    python train_export_run.py [STEPS]

The task: which of four tones comes through noise? Features of 8 bands, one label for the sequence.
"""

import sys

import longwave
import numpy as np
import torch
from s4d import S4D
from torch import Tensor, nn

ROWS, BANDS, CLASSES = 200, 8, 4


def batch(size: int) -> tuple[Tensor, Tensor]:
    """Noise in eight bands. The class says with which period all bands swing."""
    labels = torch.randint(0, CLASSES, (size,))
    period = torch.tensor([5.0, 9.0, 17.0, 33.0])[labels]
    swing = torch.sin(2 * torch.pi * torch.arange(ROWS) / period[:, None] + 6 * torch.rand(size, 1))
    return torch.randn(size, ROWS, BANDS) + swing[..., None], labels


class Classifier(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.encoder, self.layer, self.head = nn.Linear(BANDS, width), S4D(width), nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(self.encoder(x).transpose(1, 2))
        return self.head((x * x).mean(2))


def main(steps: int) -> None:
    torch.manual_seed(0)
    module = Classifier()
    optimiser = torch.optim.AdamW(module.parameters(), 0.01)
    for _ in range(steps):
        x, labels = batch(32)
        loss = nn.functional.cross_entropy(module(x), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    module.eval()
    with longwave.compile(module, batch(1)[0], "tones.lw", outputs=["logits"], stream=True) as model:
        x, labels = batch(100)
        expected = module(x).detach().numpy()
        offline = np.concatenate([model.run(row) for row in x.numpy()])
        streamed = np.concatenate([model.stream().process(row, last=True)[-1:] for row in x.numpy()])
        for name, found in (("PyTorch", expected), ("offline", offline), ("stream", streamed)):
            right = (found.argmax(1) == labels.numpy()).mean()
            print(
                f"{name}: {right:.0%} right, differs from PyTorch by {abs(found - expected).max() / abs(expected).max():.1e} of the peak"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
