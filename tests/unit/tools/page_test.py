#!/usr/bin/env python3
"""Things to look at, end to end: page_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Pages are well formed, need no network and contain what the file contains. Traces nest, and change no result.

Standard library only.
"""

import json
import re
import xml.etree.ElementTree as ElementTree

from cli_support import BAD_INPUT, OK, USAGE, Cli, main

MOST_BYTES = 500_000


class Pages(Cli):
    def page(self, path):
        """The page as a tree. It has no script and refers to itself only."""
        text = path.read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), MOST_BYTES)
        tree = ElementTree.fromstring(text.replace("<!DOCTYPE html>\n", "", 1))
        for element in tree.iter():
            self.assertNotIn(element.tag, ("script", "link", "img", "iframe", "object", "embed"))
            for name, value in element.attrib.items():
                if name in ("href", "src", "action", "data", "xlink:href"):
                    self.assertTrue(value.startswith("#"), f"{element.tag} {name}={value}")
        self.assertIsNone(re.search(r"https?:|url\(|@import|//[a-z]", text))
        anchors = {e.attrib["href"][1:] for e in tree.iter("a")}
        self.assertLessEqual(anchors, {e.attrib.get("id") for e in tree.iter()})
        return tree

    def test_the_page_contains_every_kernel_layer_field_and_hash(self):
        out = self.scratch / "page.html"
        result = self.run_cli("inspect", self.artifact, "--html", out, "--json", "--steps")
        self.assertEqual(result.returncode, OK, result.stderr)
        shown = json.loads(result.stdout)
        words = "\n".join(self.page(out).itertext())
        kernels = {
            json.loads(step["kernel"])["kernel"]
            for entry in shown["entries"]
            for step in entry["plan"]
            if step["kernel"].startswith("{")
        }
        self.assertGreater(len(kernels), 3)
        for word in (
            *kernels,
            *(layer["layer"] for layer in shown["report"]["layers"]),
            *(field["name"] for field in shown["state"]),
            *(certificate["what"] for certificate in shown["certificates"]),
        ):
            self.assertIn(word, words)
        self.assertEqual(len(re.findall(r"\b[0-9a-f]{64}\b", words)), 1 + 3 + 4)  # header, segments, identities
        self.assertNotIn("measured on this machine", words)
        out.unlink()

    def test_times_are_measured_on_demand(self):
        out = self.scratch / "timed.html"
        result = self.run_cli("inspect", self.artifact, "--html", out, "--time")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertIn("measured on this machine", "\n".join(self.page(out).itertext()))
        out.unlink()

    def test_bench_draws_what_it_prints(self):
        out = self.scratch / "bench.html"
        result = self.run_cli(
            "bench", self.artifact, "--seconds", "0.5", "--repeats", "2", "--streams", "1,3", "--html", out, "--json"
        )
        self.assertEqual(result.returncode, OK, result.stderr)
        words = "\n".join(self.page(out).itertext())
        shown = json.loads(result.stdout)
        self.assertIn(json.dumps(shown["stream"]["block_us"]["quantiles"][0][1])[:6], words)  # the data are on the page
        self.assertEqual(
            [share for share, _ in shown["stream"]["block_us"]["quantiles"]],
            [0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0],
        )
        for word in ("1 stream\n", "3 streams", "block of 160 ticks", shown["machine"]["cpu"]):
            self.assertIn(word, words)
        out.unlink()
        self.refused(USAGE, ["--planner"], "bench", self.artifact, "--planner", "--html", out)

    def test_the_report_says_rates_and_edges(self):
        layers = {layer["layer"]: layer for layer in self.report["layers"]}
        self.assertEqual(layers["stem"]["rows"], {"num": 1, "den": 160})
        self.assertEqual((layers["stem"]["width"], layers["stem"]["from"]), (8, ["audio"]))
        self.assertEqual(
            {o["name"]: o["layer"] for o in self.report["outputs"]}, {"logits": "window", "probabilities": "softmax"}
        )
        self.assertTrue(all(bytes > 0 for target in self.report["targets"] for bytes in target["kernel_bytes"]))

    def test_wrong_uses(self):
        self.refused(USAGE, ["--time", "--html"], "inspect", self.artifact, "--time")
        self.refused(USAGE, ["--html", "this is"], "inspect", self.artifact, "--html", self.artifact)
        self.refused(USAGE, ["--trace", "this is"], "run", self.artifact, "--input", "1600", "--trace", self.artifact)
        self.refused(
            USAGE,
            ["--trace", "CPU"],
            "run",
            self.artifact,
            "--input",
            "1600",
            "--device",
            "vulkan",
            "--trace",
            self.scratch / "no.json",
        )
        self.refused(
            BAD_INPUT,
            ["No such file", "longwave compile FOLDER"],
            "inspect",
            self.scratch / "none.lw",
            "--html",
            self.scratch / "no.html",
        )

    def test_inspect_says_each_thing_once(self):
        lines = self.run_cli("inspect", self.artifact).stdout.splitlines()
        self.assertEqual(sum("tiny" in line for line in lines), 1)
        for word in ("of weights", "weights ", "-> logits", "-> probabilities", "delay 0", "kB of code", "per stream"):
            self.assertLessEqual(sum(word in line for line in lines), 1, word)


class Traces(Cli):
    def trace(self, path):
        """Spans by category. They nest: a span lies inside the span that is open when it begins."""
        found = json.loads(path.read_text())
        self.assertEqual(found["otherData"]["dropped_events"], 0)
        spans = [e for e in found["traceEvents"] if e["ph"] == "X"]
        spans.sort(key=lambda e: (e["ts"], -e["dur"]))
        open_spans = []
        for span in spans:
            end = span["ts"] + span["dur"]
            while open_spans and open_spans[-1]["ts"] + open_spans[-1]["dur"] <= span["ts"] + 1e-6:
                open_spans.pop()
            order = {"call": 0, "block": 1, "step": 2}
            self.assertEqual(len(open_spans), order[span["cat"]], span)
            if open_spans:
                self.assertLessEqual(end, open_spans[-1]["ts"] + open_spans[-1]["dur"] + 1e-6)
            open_spans.append(span)
        path.unlink()
        return {cat: [e for e in spans if e["cat"] == cat] for cat in ("call", "block", "step")}, found["traceEvents"]

    def steps(self, kind):
        entries = json.loads(self.run_cli("inspect", self.artifact, "--json", "--steps").stdout)["entries"]
        return next(entry for entry in entries if entry["kind"] == kind)["plan"]

    def test_a_trace_of_a_run_has_every_step_and_changes_no_bit(self):
        for flags, kind, blocks in (([], "run", 1), (["--threads", "2"], "run", 1), (["--stream"], "stream", 10)):
            trace, traced, plain = (self.scratch / name for name in ("trace.json", "traced.npy", "plain.npy"))
            result = self.run_cli(
                "run", self.artifact, "--input", "1600", *flags, "--trace", trace, "-o", f"logits={traced}"
            )
            self.assertEqual(result.returncode, OK, result.stderr)
            self.assertEqual(
                self.run_cli("run", self.artifact, "--input", "1600", *flags, "-o", f"logits={plain}").returncode, OK
            )
            self.assertEqual(traced.read_bytes(), plain.read_bytes())
            spans, _ = self.trace(trace)
            self.assertEqual(len(spans["block"]), blocks)
            steps = self.steps(kind)
            self.assertEqual(len(spans["step"]), sum(blocks // step["period"] for step in steps))
            self.assertEqual({span["name"] for span in spans["step"]}, {step["name"] for step in steps})

    def test_a_trace_of_listening_has_the_keywords(self):
        trace = self.scratch / "listen.json"
        lines = self.listen(self.speech, "--trace", trace)
        without_time = lambda all: [line for line in all if line["type"] == "keyword"]
        self.assertEqual(without_time(lines), without_time(self.listen(self.speech)))
        spans, events = self.trace(trace)
        self.assertEqual([e["name"] for e in events if e["ph"] == "i"], [line["word"] for line in without_time(lines)])
        self.assertEqual(len(spans["block"]), 3 * 100)
        self.assertEqual(set(next(e for e in events if e["ph"] == "C")["args"]), {"yes", "no", "_silence_"})


if __name__ == "__main__":
    main()
