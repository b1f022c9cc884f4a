"""The compilers of GPU drivers that run without their GPU: how each is started, and what its figures are called.

Those of ARM devices are arm64 programs: qemu runs them, with the libraries that `arm_drivers` fetched.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

ICD = "/usr/share/vulkan/icd.d"
ARM = "arm64"  # under the programs of the tests


def amd(chip):
    return {
        "target": "vulkan-32k",
        "icd": f"{ICD}/radeon_icd.x86_64.json",
        "environment": {"RADV_FORCE_FAMILY": chip},
        "assembly": True,
        "figures": {
            "instructions": "Instructions",
            "registers": "VGPRs",
            "waves": "Subgroups per SIMD",
            "spills": ("Spilled VGPRs", "Spilled SGPRs"),
            "scratch": "Scratch size",
        },
    }


def intel(chip):
    return {
        "target": "vulkan-32k",
        "icd": f"{ICD}/intel_icd.x86_64.json",
        "environment": {"LONGWAVE_SHIM": chip},
        "shim": "gpu_intel_shim.so",
        "figures": {
            "instructions": "Instruction Count",
            "cycles": "Cycle Count",
            "waves": "subgroup",
            "spills": ("Spill Count", "Fill Count"),
            "scratch": "Scratch Memory Size",
        },
    }


def arm(chip, driver, figures):
    return {
        "target": "vulkan-16k",
        "arm": True,
        "icd": f"{ARM}/{driver}.json",
        "environment": {"LONGWAVE_SHIM": chip},
        "shim": f"{ARM}/gpu_arm_shim.so",
        "figures": {"instructions": "Instruction Count", **figures},
    }


# By the name of the chip. "waves" of Intel is the width of a subgroup: 8, 16 or 32 lanes; more hide
# more. Registers of Adreno are fours of float32.
COMPILERS = {
    "gfx1100": amd("gfx1100"),
    "vega10": amd("vega10"),
    "a770": intel("a770"),
    "adreno660": arm(
        "adreno660",
        "freedreno",
        {"registers": "Registers used", "waves": "Max Waves Per Core", "spills": ("STP Count", "LDP Count")},
    ),
    "v3d42": arm(
        "v3d42", "broadcom", {"waves": "Thread Count", "spills": ("TMU Spills", "TMU Fills"), "scratch": "Spill Size"}
    ),
}


def on_arm(compiler):
    return COMPILERS[compiler].get("arm", False)


def place(path, programs):
    """Of a file that belongs to the tests, under the folder of their programs."""
    return path if path.startswith("/") else f"{programs}/{path}"


def missing(compiler, programs):
    """Why a compiler cannot run here; None: it can."""
    about = COMPILERS[compiler]
    if on_arm(compiler):
        there = shutil.which("qemu-aarch64") and all(
            os.path.exists(place(about[file], programs)) for file in ("icd", "shim")
        )
        return None if there else "its driver is missing (tests/bench/gpu_compilers/arm_drivers fetches it)"
    if not os.path.exists(about["icd"]):
        return f"{about['icd']} is missing (Debian: mesa-vulkan-drivers)"
    if "shim" in about and not os.path.exists(place(about["shim"], programs)):
        return f"{place(about['shim'], programs)} was not built (Debian: libdrm-dev)"
    return None


def variables(compiler, programs):
    """What a Vulkan program needs to see the compiler's GPU."""
    about = COMPILERS[compiler]
    ours = {
        **about["environment"],
        "VK_ICD_FILENAMES": place(about["icd"], programs),
        "MESA_SHADER_CACHE_DISABLE": "true",
    }
    if "shim" in about:
        ours["LD_PRELOAD"] = place(about["shim"], programs)
    return ours


def statistics_program(compiler, programs):
    """The command that compiles modules, and its environment."""
    ours = variables(compiler, programs)
    if not on_arm(compiler):
        return [f"{programs}/gpu_pipeline_stats"], {**os.environ, **ours}
    root = f"{programs}/{ARM}/root"
    ours["LD_LIBRARY_PATH"] = f"{root}/usr/lib/aarch64-linux-gnu:{root}/lib/aarch64-linux-gnu"
    command = ["qemu-aarch64", "-L", root]
    for name, value in ours.items():
        command += ["-E", f"{name}={value}"]
    return [*command, f"{programs}/{ARM}/gpu_pipeline_stats"], os.environ


def figures_of(compiler, answer):
    """The figures of one module; {"failed": reason} where it did not compile."""
    if "statistics" not in answer:
        return {"failed": answer["failed"]}
    program = answer["statistics"][-1]  # Intel may make several widths: the last is the widest, which it prefers
    found = {}
    for name, key in COMPILERS[compiler]["figures"].items():
        found[name] = sum(program[k] for k in key) if isinstance(key, tuple) else program[key]
    return found


def compile_all(compiler, programs, folder, modules, dump=None):
    """Figures by file; the machine code goes to `dump`, or nowhere."""
    with tempfile.TemporaryDirectory() as elsewhere:
        to = f"{dump}/{compiler}" if dump else elsewhere
        os.makedirs(to, exist_ok=True)
        found = compiled(compiler, programs, folder, modules, to)
        for file, figures in found.items():
            share = multiply_adds(to, file) if COMPILERS[compiler].get("assembly") else None
            if share is not None:
                figures["multiply_adds"] = share
        return found


def multiply_adds(folder, file):
    """The share of multiply-adds among the instructions of AMD's longest loop; None: there is no loop."""
    for path in glob.glob(f"{folder}/{glob.escape(file)}.*.txt"):
        with open(path, encoding="utf-8", errors="replace") as text:
            lines = text.read().splitlines()
        if lines and lines[0] == "; Assembly":
            loop = longest_loop(lines)
            found = [line for line in loop if re.match(r"v_(fma|fmac|mac|mad|dual_fmac)\w*_f32|v_dual_fmac", line)]
            return round(len(found) / len(loop), 2) if loop else None
    return None


def longest_loop(lines):
    """Instructions between a label and the last jump back to it."""
    labels, code, best = {}, [], []
    for line in lines:
        if label := re.match(r"(BB\d+):", line):
            labels[label[1]] = len(code)
        elif line.startswith("\t"):
            code.append(line.split(";")[0].strip())
            jump = re.match(r"s_c?branch\w*\s+(BB\d+)", code[-1])
            if jump and jump[1] in labels:
                best = max(best, code[labels[jump[1]] :], key=len)
    return best


def compiled(compiler, programs, folder, modules, dump):
    """Figures by file. A driver that crashes fails the module that it crashed on, and is started again behind it."""
    found, waiting = {}, list(modules)
    program, ours = statistics_program(compiler, programs)
    while waiting:
        command = list(program)
        for module in waiting:
            command += [f"{folder}/{module['file']}", module["entry"], str(module["descriptors"])]
        command += ["--dump", dump]
        ran = subprocess.run(command, env=ours, capture_output=True, text=True, check=False)
        answers = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{") and line.endswith("}")]
        if not answers:
            raise RuntimeError(f"{compiler}: {ran.stderr.strip() or ran.returncode}")
        for answer in answers[1:]:  # the first describes the device
            found[answer["file"]] = figures_of(compiler, answer)
        waiting = [module for module in waiting if module["file"] not in found]
        if waiting:
            crashed = waiting.pop(0)
            found[crashed["file"]] = {"failed": f"crash: {ran.stderr.strip()[-200:] or ran.returncode}"}
    return found


def opening_problem(compiler, programs, longwave, model):
    """Why the runtime refuses to open a model on the compiler's GPU; None: it opens it, and then finds that nothing is computed."""
    with tempfile.TemporaryDirectory() as cache:
        ran = subprocess.run(
            [longwave, "verify", model, "--device", "vulkan", "--no-self-test", "--memory", "4G"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **variables(compiler, programs), "XDG_CACHE_HOME": cache},
        )
    return (
        None
        if ran.returncode == 1 and "golden vectors" in ran.stdout
        else (ran.stderr.strip() or f"exit {ran.returncode}")
    )
