"""Tokens per second of one stream and one thread: CHELA and LightNet of 12 layers, 512 and 1,024 wide, with weights in float32, bf16 and int8, beside PyTorch's best form of
the same step, beside what the machine reads from memory, and beside a transformer of as many parameters in llama.cpp's CPU engine.

    longwave bench text [--widths 512,1024] [--families chela,lightnet] [--llama PYTHON [--contexts 128,4096,8192,32768] [--only-llama]]

Weights are random, from a seed. Artifacts stay in --folder, and are made once: --prepare makes them and stops, so that a quiet machine can be kept for the measuring alone.
Each figure is the median of --rounds: in each, memory is read, every artifact writes --tokens greedy tokens, PyTorch writes as many. `read` is the median pass over as many
bytes as the weights have; a step reads its state too, which is not counted. --llama: an interpreter that has gguf and xllamacpp; our float32 artifact writes as many tokens
behind as many bytes, after llama.cpp is done. Of its time only reading takes several threads. --only-llama leaves the rest out; a context of 32,768 takes some ten minutes.

The logarithms of the probabilities of the tokens that an artifact writes are compared with those of PyTorch. The exit code is 1 if they differ by more than LIMITS.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "torch"))

from side_by_side import Longwave  # noqa: E402

# isort: split
import torch  # noqa: E402
import torch_peer  # noqa: E402
from longwave import package  # noqa: E402
from longwave.text import model as text_model  # noqa: E402
from longwave.text.export import as_package  # noqa: E402
from needs import Failed, finish  # noqa: E402

DEPTH, FORMATS = 12, ("float32", "bf16", "int8")
LIMITS = {"float32": 1e-3, "bf16": 0.1, "int8": 0.2}  # of natural logarithms: rounding of float32, and of the weights
PROMPT, COMPARED = "It was", 16  # tokens
# heads of 64; the MLP of CHELA as in its enwik8 row, LightNet's GLU of 8/3 in whole vectors, its
# gate's rank as in its WikiText row
SIZES = {
    "chela": lambda width: {"hidden": 2 * width, "heads": width // 64},
    "lightnet": lambda width: {"hidden": 8 * width // 3 // 64 * 64, "heads": width // 64, "gate_rank": 64},
}


def make(family, width, depth):
    torch.manual_seed(1)
    return text_model.make(family, width=width, depth=depth, **SIZES[family](width)).eval()


class Ours:
    """One family at one width: its package, an artifact for each format."""

    def __init__(self, longwave, folder, family, width):
        self.longwave, self.folder, self.family, self.width = longwave, folder, family, width
        self.reports = {}

    def artifact(self, weights):
        return self.folder / f"{self.family}_{self.width}_{weights}.lw"

    def prepare(self, model):
        source = self.folder / f"{self.family}_{self.width}"
        for weights in FORMATS:
            report = self.artifact(weights).with_suffix(".json")
            if not (self.artifact(weights).exists() and report.exists()):
                package.write(as_package(model, source.name), source)
                report.write_bytes(
                    self.longwave(
                        "compile",
                        source,
                        "-o",
                        self.artifact(weights),
                        "--target",
                        "host",
                        "--blocks",
                        "1,64",
                        "--stream",
                        "--no-whole",
                        "--weights",
                        weights,
                        "--no-check",
                        "--quiet",
                        "--json",
                    )
                )
            self.reports[weights] = json.loads(report.read_text())

    def written(self, weights, tokens, prompt=PROMPT):
        out = self.longwave("generate", self.artifact(weights), "-p", prompt, "-n", tokens, "--memory", "8G", "--json")
        return [line for line in map(json.loads, out.splitlines()) if line["type"] == "token"]

    def milliseconds(self, weights, tokens, prompt=PROMPT):
        """Median time from token to token, behind a prompt and eight tokens."""
        times = [line["seconds"] for line in self.written(weights, tokens + 9, prompt)[8:]]
        return 1e3 * statistics.median(b - a for a, b in zip(times, times[1:]))

    def difference(self, weights, step):
        """Largest difference of the logarithms from those of PyTorch after the same tokens."""
        torch_peer.reset(step)
        tokens, largest = self.written(weights, COMPARED), 0.0
        with torch.inference_mode():
            for byte in PROMPT.encode():
                logits = step(torch.tensor([byte]))
            for token in tokens:
                expected = torch.log_softmax(logits[0], -1)[token["id"]].item()
                largest = max(largest, abs(token["logprob"] - expected))
                logits = step(torch.tensor([token["id"]]))
        return largest


def read_gb(program, megabytes, seconds=0.5):
    return json.loads(
        subprocess.run([program, str(megabytes), str(seconds)], check=True, stdout=subprocess.PIPE).stdout
    )["median"]


def measure(ours, model, parameters, options):
    """Prints a line a format. Returns what differs from PyTorch."""
    reader = pathlib.Path(options.longwave).with_name("bench_read")
    if not reader.exists():
        raise Failed(f"{reader} is missing; run tools/setup --tests")
    forms = dict(torch_peer.forms(model, options.compiled))
    best = min(forms, key=lambda name: torch_peer.milliseconds(forms[name], max(4, options.tokens // 4)))
    megabytes = {weights: ours.reports[weights]["weights_bytes"] / 1e6 for weights in FORMATS}
    differences = {weights: ours.difference(weights, torch_peer.Step(model)) for weights in FORMATS}
    times, read = {weights: [] for weights in FORMATS}, {weights: [] for weights in FORMATS}
    peer, ratios = [], {weights: [] for weights in FORMATS}
    for _ in range(options.rounds):
        for weights in FORMATS:
            read[weights].append(read_gb(reader, max(1, round(megabytes[weights]))))
            times[weights].append(ours.milliseconds(weights, options.tokens))
        peer.append(torch_peer.milliseconds(forms[best], options.tokens))
        for weights in FORMATS:
            ratios[weights].append(times["float32"][-1] / times[weights][-1])
    for weights in FORMATS:
        typical = statistics.median(times[weights])
        reading = [megabytes[weights] / t / r for t, r in zip(times[weights], read[weights])]
        line = {
            "what": "step",
            "family": ours.family,
            "width": ours.width,
            "parameters": parameters,
            "weights": weights,
            "weights_mb": round(megabytes[weights], 1),
            "ms_per_token": typical,
            "tokens_per_second": 1e3 / typical,
            "gb_per_second": megabytes[weights] / typical,
            "read_gb_per_second": statistics.median(read[weights]),
            "of_read": statistics.median(reading),
            "of_float32": statistics.median(ratios[weights]),
            "difference": differences[weights],
        }
        if weights == "float32":
            line |= {
                "pytorch": best,
                "pytorch_ms": statistics.median(peer),
                "of_pytorch": statistics.median(p / t for p, t in zip(peer, times[weights])),
            }
        show(line, options.json)
    return [
        f"{ours.family} {ours.width} {weights}: logarithms of probabilities differ by {found:.2g}, at most {LIMITS[weights]:g}"
        for weights, found in differences.items()
        if not found <= LIMITS[weights]
    ]


def show(line, as_json):
    if as_json:
        return print(json.dumps(line), flush=True)
    text = (
        f"{line['family']:9}{line['width']:5} {line['weights']:8}{line['weights_mb']:7.1f} MB  {line['ms_per_token']:7.3f} ms  {line['tokens_per_second']:7.0f} tokens/s  "
        f"{line['gb_per_second']:5.1f} of {line['read_gb_per_second']:5.1f} GB/s read ({100 * line['of_read']:.0f} %)  {line['of_float32']:.2f} x float32  differs {line['difference']:.1e}"
    )
    if "pytorch" in line:
        text += f"  {line['of_pytorch']:.2f} x PyTorch ({line['pytorch']}, {line['pytorch_ms']:.2f} ms)"
    print(text, flush=True)


def llama(options, ours, parameters, folder):
    """A line a context as llama.cpp reaches it, then ours behind as many bytes."""
    peer = pathlib.Path(__file__).with_name("llama_peer.py")
    command = [
        options.llama,
        peer,
        str(parameters),
        str(ours.width),
        folder,
        "--contexts",
        options.contexts,
        "--tokens",
        str(options.tokens),
    ]
    theirs = []
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as run,
    ):
        for text in run.stdout:
            line = json.loads(text)
            theirs.append(line)
            print(
                text.strip()
                if options.json
                else f"llama.cpp {line['width']:4} float32, {line['parameters']:,} parameters, context {line['context']:6,}: "
                f"{line['ms_per_token']:.3f} ms  {line['tokens_per_second']:.0f} tokens/s",
                flush=True,
            )
        if run.wait():
            log.seek(0)
            raise Failed(f"llama.cpp: {([''] + log.read().strip().splitlines())[-1]}")
    prompt = folder / "context.txt"
    for line in theirs:
        prompt.write_bytes((b"It was the same word again and again. " * (line["context"] // 38 + 1))[: line["context"]])
        mine = ours.milliseconds("float32", options.tokens, f"@{prompt}")
        beside = {
            "what": "beside llama.cpp",
            "family": ours.family,
            "width": ours.width,
            "parameters": parameters,
            "context": line["context"],
            "ms_per_token": mine,
            "tokens_per_second": 1e3 / mine,
            "llama_ms": line["ms_per_token"],
            "of_llama": mine / line["ms_per_token"],
        }
        print(
            json.dumps(beside)
            if options.json
            else f"{ours.family:9} {ours.width:4} float32, {parameters:,} parameters, context {line['context']:6,}: {mine:.3f} ms  "
            f"{1e3 / mine:.0f} tokens/s  ours / llama.cpp {beside['of_llama']:.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, prog="longwave bench text", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--longwave", required=True, help=argparse.SUPPRESS)  # the launcher gives it
    parser.add_argument("--widths", default="512,1024")
    parser.add_argument("--families", default="chela,lightnet")
    parser.add_argument("--depth", type=int, default=DEPTH, help="layers (default: %(default)s)")
    parser.add_argument("--folder", type=pathlib.Path, help="of packages and artifacts (default: one that goes)")
    parser.add_argument("--prepare", action="store_true", help="only make them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--compiled", action="store_true", help="try torch.compile too: minutes, and a C++ compiler")
    parser.add_argument("--llama", metavar="PYTHON", help="measure llama.cpp with this interpreter")
    parser.add_argument(
        "--contexts", default="128,4096", help="of llama.cpp; 32768 takes many minutes to fill (default: %(default)s)"
    )
    parser.add_argument("--only-llama", action="store_true", help="only llama.cpp and ours beside it")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    if options.only_llama and not options.llama:
        parser.error("--only-llama: --llama says with which interpreter")
    if options.llama and options.depth != DEPTH:
        parser.error(f"--llama: its models have {DEPTH} layers; leave --depth out")
    torch.set_num_threads(1)
    longwave, wrong = Longwave(options.longwave), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not options.prepare:
            print(
                f"machine   {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, PyTorch {torch.__version__}",
                file=sys.stderr,
            )
        for width in map(int, options.widths.split(",")):
            for family in options.families.split(","):
                model, ours = make(family, width, options.depth), Ours(longwave, folder, family, width)
                ours.prepare(model)
                if options.prepare:
                    continue
                parameters = sum(p.numel() for p in model.parameters())
                if not options.only_llama:
                    wrong += measure(ours, model, parameters, options)
                if options.llama:
                    llama(options, ours, parameters, folder)
    return wrong


if __name__ == "__main__":
    finish("bench text", main)
