#!/usr/bin/env python3
"""longwave tune and compile --tuning: tune_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

What is measured here is never judged: kernels are timed for a moment only. Standard library only.
"""

import json
import os
import pathlib
import pty
import subprocess
import time

from cli_support import BAD_INPUT, DEVICE, KERNELS, OK, SCRATCH, USAGE, Cli, main

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Tuning(Cli):
    def tables(self):
        """The shipped tables as one tuning file, and the target that the artifact was compiled for."""
        target = self.report["targets"][0]["name"]
        shipped = lambda name: json.loads((ROOT / "schedules/long_conv/tables" / name).read_text())
        return {"tuning": 1, "costs": shipped("costs.json"), "structures": {target: shipped(f"{target}.json")}}, target

    def file(self, name, content):
        path = self.scratch / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        self.addCleanup(path.unlink, missing_ok=True)
        return path

    def tuned(self, tuning, out):
        self.addCleanup(out.unlink, missing_ok=True)
        return self.run_cli(
            "compile", self.package, "-o", out, "--target", "host", "--stream", "--json", "--tuning", tuning
        )

    def test_the_shipped_tables_as_a_file_give_the_same_bytes(self):
        tables, _ = self.tables()
        out = self.scratch / "tuned.lw"
        result = self.tuned(self.file("same.json", tables), out)
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertEqual(out.read_bytes(), self.artifact.read_bytes())

    def test_other_tables_give_another_choice_and_the_proof_holds(self):
        tables, _ = self.tables()
        tables["made"] = {"processor": "Abacus", "target": "wood", "date": "2026-01-01"}
        before = next(layer for layer in self.report["layers"] if "algorithms" in layer)["algorithms"]
        chosen = {choice["algorithm"] for choice in before}
        for name in (
            "direct",
            "transform",
            "partition",
            "dyadic",
            "dyadic_one_channel",
            "lanes_level",
            "lanes_partition",
            "phases",
        ):
            dear = 1000 if (name == "direct") == ("direct" in chosen) else 0.001
            tables["costs"][name] = [[row[0], *(number * dear for number in row[1:])] for row in tables["costs"][name]]
        result = self.tuned(self.file("other.json", tables), self.scratch / "tuned.lw")
        self.assertEqual(result.returncode, OK, result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["proof"]["holds"])
        self.assertEqual(report["tuning"], "Abacus, wood, 2026-01-01")
        after = next(layer for layer in report["layers"] if "algorithms" in layer)["algorithms"]
        self.assertNotEqual([c["algorithm"] for c in after], [c["algorithm"] for c in before])

    def test_malformed_files_are_refused_in_one_line(self):
        tables, target = self.tables()
        out = self.scratch / "none.lw"
        rows = tables["structures"][target]["structures"]
        for code, words, content in (
            (BAD_INPUT, ["the file is empty", "tuning file"], ""),
            (BAD_INPUT, ["no tuning file"], "{"),
            (BAD_INPUT, ["no tuning file"], {"costs": {}}),
            (BAD_INPUT, ["version 7", "longwave tune"], {**tables, "tuning": 7}),
            (BAD_INPUT, ['"direct"'], {**tables, "costs": {}}),
            (BAD_INPUT, ["x86-64-v11"], {**tables, "structures": {"x86-64-v11": {}}}),
            (BAD_INPUT, [target, "up_to"], {**tables, "structures": {target: {"structures": [*rows, {"up_to": 1}]}}}),
            (USAGE, ["--target x86-64-v2"], {**tables, "structures": {"x86-64-v2": tables["structures"][target]}}),
        ):
            path = self.file("bad.json", content)
            self.refused(
                code, [str(path), *words], "compile", self.package, "-o", out, "--target", "x86-64-v3", "--tuning", path
            )
        self.refused(
            BAD_INPUT, ["missing.json"], "compile", self.package, "-o", out, "--tuning", self.scratch / "missing.json"
        )

    def tune(self, out, *arguments):
        return self.command("tune", "-o", out, "--seconds", "0.001", "--cache", KERNELS, *arguments)

    def test_a_tuning_goes_on_after_a_kill(self):
        out = self.scratch / "tuning.json"
        self.addCleanup(out.unlink, missing_ok=True)
        read = lambda: json.loads(out.read_text()) if out.exists() else {"measured": {}}
        process = subprocess.Popen(
            self.tune(out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment({})
        )
        while len(read()["measured"]) < 2:
            self.assertIsNone(process.poll(), "it ended by itself")
            time.sleep(0.05)
        process.kill()
        process.communicate()
        before = read()
        good = {name: result for name, result in before["measured"].items() if "failed" not in result}
        self.assertTrue(good)
        self.assertEqual(before["tuning"], 1)
        for one in good.values():
            self.assertGreater(one[0]["ratio"], 0)
        result = self.run_cli(*self.tune(out, "--minutes", "0.05", "--json")[1:])
        self.assertEqual((result.returncode, result.stderr), (OK, ""))
        after, told = read(), json.loads(result.stdout)
        self.assertEqual({name: after["measured"][name] for name in before["measured"]}, before["measured"])
        self.assertGreater(len(after["measured"]), len(before["measured"]))
        self.assertEqual((told["measured"], told["complete"]), (len(after["measured"]), False))
        # What is known so far can be used.
        compiled = self.tuned(out, self.scratch / "tuned.lw")
        self.assertEqual(compiled.returncode, OK, compiled.stderr)
        self.assertIn(after["made"]["processor"], json.loads(compiled.stdout)["tuning"])
        self.refused(USAGE, ["not complete"], "tune", "-o", out, "--tables", self.scratch)
        # Another machine's file is not gone on with.
        after["made"]["processor"] = "Abacus"
        out.write_text(json.dumps(after))
        self.refused(USAGE, ["Abacus", str(out)], "tune", "-o", out)
        out.write_text(json.dumps({**after, "measured": {"cost direct 1": "fast"}}))
        self.refused(USAGE, [str(out)], "tune", "-o", out)

    def test_a_candidate_that_hangs_or_fails_is_recorded(self):
        out = self.scratch / "hangs.json"
        self.addCleanup(out.unlink, missing_ok=True)
        for script, timeout, words in (
            ("[ $1 = --stay ] && exit; while :; do sleep 0.1; done", 0.3, "not ready after"),
            ("echo no such kernel >&2; exit 1", 60, "no such kernel"),
        ):
            kgen = self.file("kgen.sh", f"#!/bin/sh\n{script}\n")
            kgen.chmod(0o755)
            result = self.run_cli(
                "tune",
                "-o",
                out,
                "--kgen",
                kgen,
                "--cache",
                self.scratch / "none",
                "--timeout",
                timeout,
                "--minutes",
                "0.02",
            )
            self.assertEqual(result.returncode, OK, result.stderr)
            measured = json.loads(out.read_text())["measured"]
            self.assertTrue(measured)
            for one in measured.values():
                self.assertIn(words, one["failed"])
            out.unlink()

    def test_the_costs_of_a_gpu_are_measured_kept_beside_the_rest_and_reported(self):
        out = self.scratch / "gpu.json"
        self.addCleanup(out.unlink, missing_ok=True)
        own = {"environment": {"XDG_CACHE_HOME": str(SCRATCH / "tune-gpu")}}
        self.refused(USAGE, ["--device cpu", "vulkan:NAME"], "tune", "-o", out, "--device", "cpu", **own)
        self.refused(USAGE, ["--minutes", "--device"], "tune", "-o", out, "--device", "vulkan", "--minutes", "1", **own)
        if not [line for line in self.run_cli("devices", "--json").stdout.splitlines() if "vulkan-32k" in line]:
            self.skipTest("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
        self.refused(DEVICE, ["nobody"], "tune", "-o", out, "--device", "vulkan:nobody", **own)
        other = self.file("other.json", {"costs": 1})
        self.refused(USAGE, [str(other), "tuning file"], "tune", "-o", other, "--device", "vulkan", **own)

        result = self.run_cli("tune", "-o", out, "--device", "vulkan", "--json", **own)
        self.assertEqual(result.returncode, OK, result.stderr)
        found = json.loads(result.stdout)["gpu"]
        self.assertEqual(
            list(found), ["device", "driver", "date", "bytes_per_ns", "ns_per_dispatch", "busy_workgroups"]
        )
        for number in ("bytes_per_ns", "ns_per_dispatch", "busy_workgroups"):
            self.assertGreater(found[number], 0)
        self.assertEqual(json.loads(out.read_text()), {"tuning": 1, "gpu": found})

        tables, _ = self.tables()
        before = {**tables, "made": {"processor": "Abacus"}, "gpu": {"device": "old"}, "measured": {}}
        both = self.file("both.json", before)
        result = self.run_cli("tune", "-o", both, "--device", "vulkan", **own)
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertRegex(result.stdout, r"gpu .*\n +copies .* GB/s, from \d+ workgroups .* per dispatch\nwrote ")
        after = json.loads(both.read_text())
        self.assertEqual(after.pop("gpu")["device"], found["device"])
        before.pop("gpu")
        self.assertEqual(after, before)

        artifact = self.scratch / "gpu.lw"
        self.addCleanup(artifact.unlink, missing_ok=True)
        compile_it = ["compile", self.package, "-o", artifact, "--target", "host,vulkan-32k", "--json"]
        for tuning, costs, words in (
            ([], "assumed", "costs: assumed"),
            (["--tuning", out], {"measured": found["device"]}, "costs: measured on " + found["device"]),
        ):
            result = self.run_cli(*compile_it, *tuning, **own)
            self.assertEqual(result.returncode, OK, result.stderr)
            self.assertEqual(json.loads(result.stdout)["gpu"]["costs"], costs)
            self.assertIn(words, self.run_cli("inspect", artifact).stdout)
        bad = self.file("bad.json", {"tuning": 1, "gpu": {**found, "ns_per_dispatch": -1}})
        self.refused(
            BAD_INPUT,
            [str(bad), "ns_per_dispatch", "longwave tune --device vulkan"],
            *compile_it,
            "--tuning",
            bad,
            **own,
        )

    def test_the_variants_of_a_model_are_timed_and_remembered(self):
        self.refused(USAGE, ["--device vulkan"], "tune", self.artifact)
        if not [line for line in self.run_cli("devices", "--json").stdout.splitlines() if "vulkan-32k" in line]:
            self.skipTest("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
        own = {"environment": {"XDG_CACHE_HOME": str(SCRATCH / "variants")}}
        self.refused(DEVICE, ["--target vulkan-32k"], "tune", self.artifact, "--device", "vulkan", **own)
        artifact = self.scratch / "variants.lw"
        self.addCleanup(artifact.unlink, missing_ok=True)
        package = ROOT / "examples/packages/tiny"
        compile_it = ["compile", package, "-o", artifact, "--target", "host,vulkan-32k"]
        self.assertEqual(self.run_cli(*compile_it).returncode, OK)
        result = self.run_cli("tune", artifact, "--device", "vulkan", "--json", **own)
        self.assertEqual(result.returncode, OK, result.stderr)
        kernels = json.loads(result.stdout)["kernels"]
        self.assertGreater(len(kernels), 0)
        for kernel in kernels:
            self.assertIn("kernel", json.loads(kernel["kernel"]))
            self.assertTrue(2 <= len(kernel["us"]) <= 4 and all(us > 0 for us in kernel["us"]), kernel)
            self.assertLess(kernel["chosen"], len(kernel["us"]))
        self.assertRegex(
            self.run_cli("tune", artifact, "--device", "vulkan", **own).stdout,
            r"gpu .*\n +\d+ kernels have variants.*\n  linear .* \*",
        )
        self.assertEqual(
            self.run_cli("verify", artifact, "--device", "vulkan", **own).returncode, OK
        )  # with what was chosen
        self.assertEqual(self.run_cli(*compile_it, "--gpu-variants", "1").returncode, OK)
        self.assertEqual(
            json.loads(self.run_cli("tune", artifact, "--device", "vulkan", "--json", **own).stdout)["kernels"], []
        )

    def test_a_tuning_of_the_cpu_keeps_the_costs_of_a_gpu(self):
        gpu = {"device": "Abacus", "bytes_per_ns": 1.5, "ns_per_dispatch": 2.5, "busy_workgroups": 4}
        out = self.file("kept.json", {"tuning": 1, "gpu": gpu})
        for _ in range(2):  # begun, then continued
            result = self.run_cli(*self.tune(out, "--minutes", "0")[1:])
            self.assertEqual(result.returncode, OK, result.stderr)
            file = json.loads(out.read_text())
            self.assertEqual(file["gpu"], gpu)
            self.assertIn("made", file)

    def test_a_progress_line_is_for_terminals_only(self):
        """Neither command writes one into a pipe; on a terminal it is there, and --quiet takes it away."""
        out = self.scratch / "progress.json"
        self.addCleanup(out.unlink, missing_ok=True)
        slow = self.file("slow.sh", "#!/bin/sh\n[ $1 = --stay ] || sleep 1.2\nexit 1\n")
        slow.chmod(0o755)
        tune = ["tune", "-o", out, "--kgen", slow, "--cache", self.scratch / "none", "--minutes", "0.06"]
        piped = self.run_cli(*tune)
        self.assertEqual((piped.returncode, piped.stderr), (OK, ""))
        for quiet in (False, True):
            out.unlink()
            mine, theirs = pty.openpty()
            process = subprocess.Popen(
                self.command(*tune, *(["--quiet"] if quiet else [])),
                stdout=subprocess.DEVNULL,
                stderr=theirs,
                env=self.environment({}),
            )
            os.close(theirs)
            seen = b""
            try:
                while part := os.read(mine, 4096):
                    seen += part
            except OSError:  # the terminal is gone with the last who wrote to it
                pass
            os.close(mine)
            self.assertEqual(process.wait(), OK)
            self.assertEqual(b"[" in seen, not quiet, seen)


if __name__ == "__main__":
    main()
