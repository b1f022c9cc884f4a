"""Prints accuracy and event figures of trained runs, with confidence limits, and chooses thresholds.

    python -m longwave.kws.evaluate DATA RUN... [--cnn RUN] [--decision-out decision.json] [--record figures.json]

Accuracy: top-1 of twelve classes, decision = mean of the logits over the last 0.3 s of each clip; `carried` = all clips
in one stream, in a fixed shuffled order, without reset; `isolated` = each clip from zero state.
Events: thresholds are chosen per run on validation commands, validation `_unknown_`/`_silence_` clips and *training*
negatives and noise; false accepts are counted on held-out negatives and noise.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import output_files
from . import streams, thresholds
from .cnn import DsCnn
from .decision import Decision, Event, detect
from .export import load_run
from .intervals import percent, poisson_upper
from .labels import CLASSES, SILENCE
from .losses import READ
from .model import KwsNet

FRAMES = 50  # 20 ms frames in a clip


def predict_carried(net: KwsNet, samples: np.ndarray, number: int = 0) -> np.ndarray:
    """Classes of all clips, streamed one after the other; in the order of `samples`."""
    order = streams.carried_order(len(samples), number)
    rows = streams.logits(net, samples[order].ravel()).reshape(len(samples), FRAMES, -1)
    predicted = np.empty(len(samples), int)
    predicted[order] = rows[:, -READ:].mean(1).argmax(1)
    return predicted


@torch.no_grad()
def predict_isolated(net: KwsNet, samples: np.ndarray) -> np.ndarray:
    parts = [net.from_samples(x)[:, -READ:].mean(1) for x in torch.from_numpy(samples).split(64)]
    return torch.cat(parts).argmax(1).numpy()


@torch.no_grad()
def predict_cnn(net: DsCnn, samples: np.ndarray) -> np.ndarray:
    return torch.cat([net(net.front_end(x)) for x in torch.from_numpy(samples).split(64)]).argmax(1).numpy()


def accuracy(predicted: np.ndarray, label: np.ndarray) -> tuple[str, str, float]:
    """All twelve classes, without `_silence_`, and the former as a fraction."""
    right = predicted == label
    speech = label != SILENCE
    return (
        percent(int(right.sum()), len(right)),
        percent(int(right[speech].sum()), int(speech.sum())),
        float(right.mean()),
    )


def robustness(net: KwsNet, samples: np.ndarray, label: np.ndarray, noise: np.ndarray) -> dict[str, float]:
    """Carried accuracy in percent when all clips are quieter, louder, or in held-out noise.

    The noise is set against the mean power of the clips that hold speech.
    """
    speech_rms = np.sqrt(np.mean(samples[label != SILENCE] ** 2))
    noise = np.resize(noise, samples.shape) * (speech_rms / (noise.std() + 1e-9))
    altered = {
        "-12 dB": 0.25 * samples,
        "+6 dB": np.clip(2 * samples, -1, 1),
        "SNR 20 dB": samples + 0.1 * noise,
        "SNR 10 dB": samples + 0.316 * noise,
        "SNR 5 dB": samples + 0.562 * noise,
    }
    return {
        name: round(100 * accuracy(predict_carried(net, x.astype(np.float32)), label)[2], 1)
        for name, x in altered.items()
    }


def recalls(predicted: np.ndarray, label: np.ndarray) -> str:
    return ", ".join(f"{name} {100 * (predicted[label == i] == i).mean():.0f}" for i, name in enumerate(CLASSES))


@dataclass
class Scores:
    """Probabilities (T, 12) of every event stream."""

    commands: np.ndarray
    command_label: np.ndarray
    other_clips: np.ndarray  # validation `_unknown_` and `_silence_`, 1.5 s of quiet after each
    tuning: list[np.ndarray]  # training negatives and noise
    speech: np.ndarray  # held out
    noise: np.ndarray  # held out
    machine: np.ndarray
    quiet: np.ndarray


def score_streams(net: KwsNet, data: Path, samples: np.ndarray, label: np.ndarray) -> Scores:
    def run(audio: np.ndarray) -> np.ndarray:
        return streams.softmax(streams.logits(net, audio))

    commands, command_label = streams.command_stream(samples, label)
    others = np.pad(samples[label >= SILENCE], ((0, 0), (0, streams.QUIET))).ravel().astype(np.float32)
    training = streams.speech(data, held_out=False)
    tuning = [run(training), run(0.3 * training), run(streams.noise(data, held_out=False))]
    return Scores(
        run(commands),
        command_label,
        run(others),
        tuning,
        run(streams.speech(data, held_out=True)),
        run(streams.noise(data, held_out=True)),
        run(streams.machine_noise(data)),
        run(streams.synthetic_quiet()),
    )


def minutes(rows: np.ndarray) -> float:
    return len(rows) * 0.02 / 60


def describe(found: list[Event]) -> str:
    return ", ".join(f"{CLASSES[e.word]} {e.score:.2f} at {e.seconds:.1f} s" for e in found) or "none"


def report_events(scores: Scores, decision: Decision) -> dict[str, Any]:
    score = thresholds.score_commands(detect(scores.commands, decision), scores.command_label)
    print(f"  false rejects on val commands: {percent(score.missed, score.commands)}; wrong-word events {score.wrong}")
    others = detect(scores.other_clips, decision)
    print(
        f"  events on val _unknown_ and _silence_ clips ({minutes(scores.other_clips):.1f} min with quiet): {len(others)}"
    )
    speech, noise = detect(scores.speech, decision), detect(scores.noise, decision)
    time, count = minutes(scores.speech) + minutes(scores.noise), len(speech) + len(noise)
    bound = poisson_upper(count) / (time / 60)
    print(
        f"  held-out negatives {minutes(scores.speech):.1f} min: {describe(speech)}; "
        f"held-out noise {minutes(scores.noise):.1f} min: {describe(noise)}"
    )
    print(f"  false accepts {count} in {time:.1f} min, 95 % upper bound {bound:.1f} per hour")
    machine, quiet = detect(scores.machine, decision), detect(scores.quiet, decision)
    print(
        f"  machine noise (gsc-*) {minutes(scores.machine):.1f} min: {describe(machine)}; "
        f"silence, coloured noise and tones {minutes(scores.quiet):.1f} min: {describe(quiet)}"
    )
    return {
        "commands": score.commands,
        "missed": score.missed,
        "wrong_word": score.wrong,
        "on_other_clips": len(others),
        "false_accepts": count,
        "minutes": round(time, 2),
        "upper_per_hour": round(bound, 2),
        "on_machine_noise": len(machine),
        "on_quiet": len(quiet),
    }


def choose(scores: Scores, base: Decision) -> Decision:
    return thresholds.search(scores.commands, scores.command_label, [*scores.tuning, scores.other_clips], base)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("runs", type=Path, nargs="+", help="finished runs, one per seed; the first is the one shipped")
    parser.add_argument("--cnn", type=Path)
    parser.add_argument("--decision-out", type=Path, help="where to write the decision settings of the first run")
    parser.add_argument("--record", type=Path, help="where to write the figures as JSON")
    parser.add_argument("--smoothing-ms", type=float, default=300)
    parser.add_argument("--min-count", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    samples, label = streams.val_clips(options.data)
    record: dict[str, Any] = {"runs": []}
    carried = []
    for number, run in enumerate(options.runs):
        net = load_run(run)
        predicted = predict_carried(net, samples)
        everything, speech, fraction = accuracy(predicted, label)
        carried.append(fraction)
        isolated = accuracy(predict_isolated(net, samples), label)
        other = [accuracy(predict_carried(net, samples, n), label)[2] for n in (1, 2, 3)]
        print(
            f"{run.name}\n  carried {everything}; without _silence_ {speech}\n  isolated {isolated[0]}\n"
            f"  carried in three other orders: {', '.join(f'{100 * f:.1f}' for f in other)}\n"
            f"  recall: {recalls(predicted, label)}",
            flush=True,
        )
        altered = robustness(net, samples, label, streams.noise(options.data, held_out=True))
        print("  carried, altered: " + ", ".join(f"{name} {value}" for name, value in altered.items()))
        entry = {"altered": altered, "carried": everything, "carried_without_silence": speech, "isolated": isolated[0]}
        scores = score_streams(net, options.data, samples, label)
        decision = choose(scores, Decision(smoothing_ms=options.smoothing_ms, min_count=options.min_count))
        print("  thresholds " + json.dumps(decision.thresholds))
        record["runs"].append(entry | report_events(scores, decision))
        if number == 0 and options.decision_out:
            output_files.write_text(options.decision_out, json.dumps(decision.to_json(), indent=2))
    print(f"mean of {len(carried)} runs, carried: {100 * np.mean(carried):.2f} % (sd {100 * np.std(carried):.2f})")
    record["mean_carried"] = round(100 * float(np.mean(carried)), 2)
    if options.cnn:
        cnn = DsCnn()
        cnn.load_state_dict(torch.load(options.cnn / "final.pt")["average"])
        everything, speech, _ = accuracy(predict_cnn(cnn.eval(), samples), label)
        print(f"CNN neighbour, clips cut out: {everything}; without _silence_ {speech}")
        record["cnn"] = everything
    if options.record:
        output_files.write_text(options.record, json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
