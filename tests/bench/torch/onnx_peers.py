"""The keyword network behind its front end as an ONNX graph, and the engines that run it: ONNX Runtime and OpenVINO, one thread, float32.

They get the features (our figure has the front end in it), fixed shapes, and the long convolutions in the better of two forms, each engine by
itself: depthwise convolutions whose taps are written out, or one product a channel with the Toeplitz matrix of its taps. Neither engine has a
convolution by transforms, and both leave weights where ONNX puts them.
"""

import time

import numpy as np
import torch
import torch.nn.functional as F


class Exported(torch.nn.Module):
    """KwsNet on (1, T, 40) features in operations that ONNX has; the same numbers as KwsNet.forward."""

    def __init__(self, net, frames, toeplitz):
        super().__init__()
        self.net, self.toeplitz = net, toeplitz
        self.kernels = [self._taps(block.layer, frames) for block in net.blocks]

    def _taps(self, layer, frames):
        taps = (layer.raw_kernel() / layer.kernel_norm)[0][:, :frames].detach().clone()  # (width, taps)
        taps[:, 0] += layer.D[0].detach()
        if not self.toeplitz:
            return taps.flip(-1)[:, None]
        lags = torch.arange(frames)[:, None] - torch.arange(frames)[None]
        return torch.where(
            lags >= 0, F.pad(taps, (0, frames - taps.shape[1]))[:, lags.clamp(min=0)], 0.0
        )  # (width, to, from)

    def _long(self, u, kernel):
        if self.toeplitz:
            return (kernel @ u[0, :, :, None])[None, :, :, 0]
        return F.conv1d(F.pad(u, (kernel.shape[-1] - 1, 0)), kernel, groups=u.shape[1])

    def forward(self, features):
        stem = self.net.stem
        x = F.relu(
            F.conv2d(
                F.pad(features[:, None], (0, 0, 2, 0)),
                stem.conv1.weight,
                stem.conv1.bias,
                stride=(2, 2),
                padding=(0, 2),
            )
        )
        x = F.relu(stem.norm1(stem.pointwise(stem.depthwise(F.pad(x, (0, 0, 2, 0))))))
        x = stem.norm2(stem.project(x.permute(0, 2, 3, 1).flatten(2)).transpose(1, 2))  # (1, width, T/2)
        for block, kernel in zip(self.net.blocks, self.kernels):
            y = F.gelu(self._long(block.norm(x), kernel))
            linear = block.layer.output_linear[0]
            x = x + F.glu(F.linear(y.transpose(1, 2), linear.weight, linear.bias), dim=-1).transpose(1, 2)
        return self.net.head(self.net.norm(x).transpose(1, 2))


def export(net, features, toeplitz, path):
    torch.onnx.export(
        Exported(net, features.shape[1] // 2, toeplitz).eval(),
        (features,),
        path,
        input_names=["features"],
        output_names=["logits"],
        dynamo=True,
        verbose=False,
    )


def onnxruntime_session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return f"onnxruntime {onnxruntime.__version__}", lambda x: session.run(None, {"features": x})[0]


def openvino_session(path):
    import openvino

    model = openvino.Core().compile_model(
        str(path), "CPU", {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    )
    request = model.create_infer_request()
    return f"openvino {openvino.__version__.split('-')[0]}", lambda x: request.infer({0: x})[0]


SESSIONS = {"onnxruntime": onnxruntime_session, "openvino": openvino_session}


def contestant(engine, net, features, scratch):
    """(name, a call without arguments, its logits) of the form that takes less on this machine."""
    found = []
    for toeplitz in (False, True):
        path = scratch / f"kws-{'toeplitz' if toeplitz else 'taps'}.onnx"
        if not path.exists():
            export(net, features, toeplitz, path)
        name, infer = SESSIONS[engine](path)
        array = np.ascontiguousarray(features.numpy())
        logits = infer(array).copy()
        begin = time.perf_counter()
        for _ in range(200):
            infer(array)
        found.append((time.perf_counter() - begin, name, lambda infer=infer, array=array: infer(array), logits))
    return min(found, key=lambda one: one[0])[1:]
