"""Why an ONNX operation is not read, for those that have a reason of their own."""

from __future__ import annotations

from ..errors import NoOp, retrain

INTEGERS = (
    "computes with integers, and its rounding would be lost",
    "export the model in float32, and round its weights with longwave compile --weights int8",
)
SHAPED = ("its shape depends on the data", "let shapes depend on the number of rows only")
RANDOM = ("draws random numbers in each call", "give them as an input, or leave them out")
LOOP = ("a loop has no op", retrain("use LSTM, GRU or CumSum over the rows, or write the steps out"))
NO_NUMBERS = ("handles sequences, texts or maps, not tensors of numbers", "leave it outside of the model")
OTHER = ("no rule for it", "docs/onnx.md lists what is read; write it with these operations")

REASONS = {
    **dict.fromkeys(
        ("QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "QuantizeLinear", "DynamicQuantizeLinear"),
        INTEGERS,
    ),
    **dict.fromkeys(("NonZero", "Unique", "Compress", "NonMaxSuppression"), SHAPED),
    **dict.fromkeys(
        ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"), RANDOM
    ),
    **dict.fromkeys(("Loop", "Scan"), LOOP),
    **dict.fromkeys(
        (
            "SequenceAt",
            "SequenceConstruct",
            "SequenceEmpty",
            "SequenceErase",
            "SequenceInsert",
            "SequenceLength",
            "SequenceMap",
            "SplitToSequence",
            "ConcatFromSequence",
            "Optional",
            "OptionalGetElement",
            "OptionalHasElement",
            "StringNormalizer",
            "StringConcat",
            "StringSplit",
            "RegexFullMatch",
            "TfIdfVectorizer",
            "ImageDecoder",
        ),
        NO_NUMBERS,
    ),
}


def no_rule(op_type: str, domain: str) -> NoOp:
    if domain:
        return NoOp(
            f"is of the domain {domain}",
            "export the model without operations of other domains, such as those that onnxruntime's optimiser makes",
        )
    return NoOp(*REASONS.get(op_type, OTHER))
