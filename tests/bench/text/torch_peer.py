"""One token of the language models in PyTorch, as fast as we could make it: state in place, nothing computed twice, the products of one input in one matrix; eager, traced
and frozen, or through torch.compile, whichever is quickest."""

import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))

from longwave.text.model import merged_branches  # noqa: E402


def rms(x, weight, eps):
    return F.rms_norm(x, x.shape[-1:], weight, eps)


class ChelaStep(nn.Module):
    """x (1, d) -> (1, d)."""

    def __init__(self, block):
        super().__init__()
        config, self.block = block.config, block
        self.heads, self.eps = config.heads, config.norm_eps
        d, head = config.width, config.width // config.heads
        short, long = merged_branches(block).T.contiguous(), block.long.k0.flip(1).T.contiguous()
        self.gates = nn.Linear(d, 2 * d)  # of Z: g_proj and o_gate
        self.gates.weight.data = torch.cat([block.g_proj.weight, block.o_gate.weight])
        self.gates.bias.data = torch.cat([block.g_proj.bias, block.o_gate.bias])
        for name, value in (
            ("short", short),
            ("long", long),
            ("near", torch.zeros_like(short)),
            ("far", torch.zeros_like(long)),
            ("sums", torch.zeros(config.heads, head, head)),
        ):
            self.register_buffer(name, value)

    def forward(self, x):
        block, d = self.block, x.shape[1]
        normed = rms(x, block.norm.weight, self.eps)
        self.near.copy_(torch.cat([self.near[1:], normed]))
        a = F.silu((self.near * self.short).sum(0, keepdim=True))
        self.far.copy_(torch.cat([self.far[1:], a]))
        z = (self.far * self.long).sum(0, keepdim=True)
        q, k = (block.gamma * z + block.beta).view(2, self.heads, 1, -1)
        v = F.silu(block.v_proj(normed)).view(self.heads, 1, -1)
        self.sums.add_(k.transpose(1, 2) * v)
        attended = torch.bmm(q, self.sums).view(1, self.heads, -1)
        attended = F.rms_norm(attended, attended.shape[-1:], None, 1e-6).view(1, d)
        g, o = self.gates(z).split(d, 1)
        gate = torch.sigmoid(o)
        u = attended * F.silu(g) * gate + x * (1 - gate)
        nffn = block.nffn
        return u + nffn.fc2(F.silu(nffn.fc1(rms(u, nffn.norm.weight, self.eps))))


class LightNetStep(nn.Module):
    def __init__(self, block):
        super().__init__()
        mixer, mlp = block["token_mixer"], block["channel_mixer"]
        self.mixer, self.mlp, config = mixer, mlp, mixer.config
        self.norms = nn.ParameterList([block["token_norm"].weight, block["channel_norm"].weight])
        self.eps, self.heads, d = block["token_norm"].eps, config.heads, config.width
        self.inputs = nn.Linear(d, 3 * d + config.gate_rank, bias=False)  # queries, keys, values, the gate's first half
        self.inputs.weight.data = torch.cat(
            [mixer.q_proj.weight, mixer.k_proj.weight, mixer.v_proj.weight, mixer.output_gate[0].weight]
        )
        self.both = nn.Linear(d, 2 * mlp.w1.out_features, bias=False)
        self.both.weight.data = torch.cat([mlp.w1.weight, mlp.w2.weight])
        taps = torch.cat([getattr(mixer, f"{name}_conv1d").weight[:, 0] for name in "qkv"]).T.contiguous()
        for name, value in (
            ("taps", taps),
            ("near", torch.zeros_like(taps)),
            ("total", torch.full((self.heads, d // self.heads, 1), -1e30)),
            ("mean", torch.zeros(self.heads, d // self.heads, d // self.heads)),
        ):
            self.register_buffer(name, value)

    def forward(self, x):
        mixer, d = self.mixer, x.shape[1]
        projected, low = self.inputs(rms(x, self.norms[0], self.eps)).split(
            [3 * d, self.inputs.out_features - 3 * d], 1
        )
        self.near.copy_(torch.cat([self.near[1:], projected]))
        q, k, v = (self.near * self.taps).sum(0).view(3, self.heads, -1).unbind(0)
        k = k.unsqueeze(2)
        self.total.copy_(torch.logaddexp(self.total, k))
        self.mean.add_((k - self.total).exp() * (v.unsqueeze(1) - self.mean))
        out = torch.bmm(F.silu(q).unsqueeze(1), self.mean).view(1, d)
        x = x + mixer.o_proj(rms(out, mixer.norm.weight, mixer.norm.eps) * torch.sigmoid(mixer.output_gate[1](low)))
        a, b = self.both(rms(x, self.norms[1], self.eps)).chunk(2, 1)
        return x + self.mlp.w3(F.silu(a) * b)


class Tpe(nn.Module):
    def __init__(self, tpe):
        super().__init__()
        self.tpe, heads, d = tpe, tpe.log_decay.numel(), tpe.q.numel()
        self.register_buffer("gain", (tpe.q * tpe.k).view(heads, -1).sum(1).repeat_interleave(d // heads)[None])
        self.register_buffer("decay", torch.sigmoid(tpe.log_decay).repeat_interleave(d // heads)[None])
        self.register_buffer("sums", torch.zeros(1, d))

    def forward(self, x):
        self.sums.mul_(self.decay).add_(x)
        return self.tpe.o_proj(rms(self.gain * self.sums, self.tpe.norm.weight, self.tpe.norm.eps))


class Step(nn.Module):
    """id (1,) -> logits (1, 256)."""

    def __init__(self, model, compiled=False):
        super().__init__()
        chela = hasattr(model, "embed_tokens")
        body = model if chela else model.model
        self.embedding, self.final = (
            body.embed_tokens if chela else body["embed_tokens"],
            body.final_norm if chela else body["final_norm"],
        )
        self.head = model.classifier if chela else model.lm_head
        blocks = (
            [ChelaStep(block) for block in model.layers] if chela else [LightNetStep(block) for block in body["layers"]]
        )
        if compiled:
            for block in blocks:
                block.compile(dynamic=False)
        self.blocks = nn.ModuleList(blocks if chela else [Tpe(body["tpe"]), *blocks])

    def forward(self, token):
        x = self.embedding(token)
        for block in self.blocks:
            x = block(x)
        return self.head(rms(x, self.final.weight, self.final.eps))


def reset(step):
    for name, state in step.named_buffers():
        if name.endswith(("near", "far", "sums", "mean")):
            state.zero_()
        elif name.endswith("total"):
            state.fill_(-1e30)


def forms(model, compiled):
    """Every form that runs here, by name; all give the logits of the layers."""
    with torch.inference_mode():
        yield "eager", Step(model)
    with torch.no_grad():
        traced = Step(model).eval()
        yield "traced", torch.jit.trace(traced, torch.tensor([1]), check_trace=False)
        if compiled:
            yield "compiled", Step(model, compiled=True)


def milliseconds(step, tokens):
    """Median of a greedy token behind eight others."""
    times, token = [], torch.tensor([1])
    with torch.inference_mode():
        for _ in range(tokens + 8):
            begin = time.perf_counter()
            token = step(token).argmax(1)
            times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[8:])
