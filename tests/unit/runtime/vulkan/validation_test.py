#!/usr/bin/env python3
"""The validation layers have nothing to say of the dispatcher, and do say something when its barriers are left out.

validation_test.py PROGRAM [OTHER ARGUMENTS...]: runs the doctest program under VK_LAYER_KHRONOS_validation with synchronisation
validation, and OTHER instead of it where it is given; PROGRAM alone knows how to leave barriers out.
"""

import glob
import os
import re
import subprocess
import sys

MESSAGE = re.compile(r"^.*(?:VUID-|SYNC-HAZARD|Validation Error|Validation Warning).*$", re.M)
CASE = "--test-case=vulkan: sequences of every length*"


def run(program, arguments, **environment):
    ours = {
        "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
        "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
    }
    return subprocess.run(
        [program, *arguments],
        env={**os.environ, **ours, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def main():
    program = sys.argv[1]
    if not glob.glob("/usr/share/vulkan/explicit_layer.d/*khronos_validation*") and "VK_LAYER_PATH" not in os.environ:
        print("SKIPPED: no validation layers (Debian: vulkan-validationlayers)")
        return 77
    other, *arguments = sys.argv[2:] or [program]
    silent = run(other, arguments)
    if silent.returncode == 77:
        print(silent.stdout.splitlines()[-1])
        return 77
    told = MESSAGE.findall(silent.stdout)
    if told or silent.returncode != 0:
        print(silent.stdout[-4000:])
        print(f"FAILED: {len(told)} messages, exit {silent.returncode}")
        return 1
    broken = run(program, [CASE], LONGWAVE_TEST_NO_BARRIERS="1")
    hazards = broken.stdout.count("SYNC-HAZARD")
    if hazards == 0:
        print(broken.stdout[-2000:])
        print("FAILED: without barriers the layers say nothing, so their silence proves nothing")
        return 1
    print(f"silent; without barriers {hazards} hazards")
    return 0


sys.exit(main())
