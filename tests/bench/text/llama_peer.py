"""Tokens per second of llama.cpp's CPU engine: a transformer of random weights, as many parameters as ours, one thread, behind a context.

    llama_peer.py PARAMETERS WIDTH FOLDER --contexts 128,4096,8192,32768 [--tokens 32]

Needs the packages gguf and xllamacpp (wheels with llama.cpp's CPU engine inside). Prints one JSON object a context. Every context is the beginning of the next, so that what
was read stays (its cache of keys and values), and reading takes --prefill-threads threads: no position is read twice, and the longest context takes what the first
alone would. Only tokens are timed, and they take one thread. Memory: weights, and 48 bytes a position and feature (1.6 GB behind 32,768 at a width of 1,024). The layers are LLaMA's (Touvron et al. 2023) with heads of
64; the width of their MLP makes the count of parameters. Weights float32, keys and values as it
keeps them by default (16 bits).
"""

import argparse
import json
import os
import pathlib
import sys

import numpy as np

DEPTH, WORDS = 12, 259  # bytes behind <unk>, <s>, </s>


def mlp_width(parameters, width):
    """Of a layer of attention (4 width^2) and a gated MLP (3 width * mlp), embedding and head apart."""
    layer = (parameters - 2 * WORDS * width) / DEPTH - 4 * width * width
    return max(32, round(layer / (3 * width) / 32) * 32)


def write(path, parameters, width, longest):
    import gguf

    hidden, random, count = mlp_width(parameters, width), np.random.default_rng(1), 0
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in (
        ("context_length", longest),
        ("embedding_length", width),
        ("block_count", DEPTH),
        ("feed_forward_length", hidden),
        ("head_count", width // 64),
        ("head_count_kv", width // 64),
        ("rope_dimension_count", 64),
        ("layer_norm_rms_eps", 1e-6),
    ):
        getattr(writer, f"add_{name}")(value)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))])
    writer.add_token_scores([0.0] * WORDS)
    writer.add_token_types(
        [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL, *[gguf.TokenType.BYTE] * 256]
    )

    def add(name, *shape):
        nonlocal count
        values = np.ones(shape) if len(shape) == 1 else random.standard_normal(shape) / shape[1] ** 0.5
        count += values.size
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))

    add("token_embd", WORDS, width), add("output_norm", width), add("output", WORDS, width)
    for n in range(DEPTH):
        for name, *shape in (
            ("attn_norm", width),
            ("attn_q", width, width),
            ("attn_k", width, width),
            ("attn_v", width, width),
            ("attn_output", width, width),
            ("ffn_norm", width),
            ("ffn_gate", hidden, width),
            ("ffn_up", hidden, width),
            ("ffn_down", width, hidden),
        ):
            add(f"blk.{n}.{name}", *shape)
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    return count


def server(path, context, prefill_threads):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.n_gpu_layers, params.warmup = context, 1, 0, False
    params.cpuparams.n_threads, params.cpuparams_batch.n_threads = 1, prefill_threads
    params.ctx_shift = False
    return xllamacpp.Server(params)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parameters", type=int)
    parser.add_argument("width", type=int)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--contexts", default="128,4096,8192,32768")
    parser.add_argument("--tokens", type=int, default=32, help="written behind each context")
    parser.add_argument("--prefill-threads", type=int, default=os.cpu_count(), help="(default: all)")
    options = parser.parse_args()
    contexts = sorted(int(context) for context in options.contexts.split(","))
    path = options.folder / f"llama_{options.width}_{options.parameters}.gguf"
    count = write(path, options.parameters, options.width, 2 * max(contexts))
    llama, ids = (
        server(path, contexts[-1] + options.tokens + 64, options.prefill_threads),
        np.random.default_rng(2).integers(3, WORDS, contexts[-1]).tolist(),
    )
    for context in contexts:
        answer = llama.handle_completions(
            {
                "prompt": ids[:context],
                "n_predict": options.tokens,
                "ignore_eos": True,
                "temperature": 0,
                "cache_prompt": True,
            }
        )
        answer = json.loads(answer) if isinstance(answer, (str, bytes)) else answer
        timings = answer.get("timings") or sys.exit(f"llama.cpp: {answer}")
        behind = timings.get("cache_n", context - timings["prompt_n"]) + timings["prompt_n"]
        if behind != context or timings["predicted_n"] != options.tokens:
            sys.exit(
                f"llama.cpp: expected {options.tokens} tokens behind {context}, found {timings['predicted_n']} behind {behind}"
            )
        print(
            json.dumps(
                {
                    "what": "llama.cpp",
                    "parameters": count,
                    "width": options.width,
                    "context": context,
                    "tokens": timings["predicted_n"],
                    "ms_per_token": timings["predicted_per_token_ms"],
                    "tokens_per_second": timings["predicted_per_second"],
                    "prompt_tokens": timings["prompt_n"],
                    "prompt_ms": timings["prompt_ms"],
                    "prompt_threads": options.prefill_threads,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
