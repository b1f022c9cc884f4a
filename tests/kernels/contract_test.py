#!/usr/bin/env python3
"""A kernel call that breaks its contract does not compile (schedules/contract/param.h).

contract_test.py COMPILER

The first program below compiles. Each of the others differs from it in one mistake, and the compiler must
refuse it.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
#include "compiler/ir/kernel_call.h"
#include "schedules/contract/kernels/audio.h"
#include "schedules/contract/spec.h"
using namespace longwave;
namespace contract = schedules::contract;

struct Own {
    static constexpr const char *name = "own";
    contract::Required<1, 8> rows;
    contract::Default<1, 1, 8> copies;
    LW_PARAMS(rows, copies)
    template <class Of> struct Arguments {
        typename Of::Input x;
        typename Of::Output y;
        LW_ARGUMENTS(x, y)
    };
};
static_assert(contract::complete<Own>() && contract::complete<Own::Arguments<ir::Given>>());

contract::Specification specification(const Own &own) { return contract::specification(own); }

void call(ir::Step &step, ir::Place input, ir::Place weight, ir::Place output, ir::Scalar position) {
    ir::set_kernel<contract::Frame>(step,
        {.window = 400, .hop = 160, .chunk = 80, .rows = 1, .ring = 560},
        {.samples = input, .window = weight, .position = position, .y = output});
    ir::set_kernel<Own>(step, {.rows = 3}, {.x = input, .y = output});
}
"""
# What is wrong, the text, and what stands there instead.
MISTAKES = [
    ("two arguments are swapped", ".samples = input, .window = weight", ".window = weight, .samples = input"),
    ("two params are swapped", ".window = 400, .hop = 160", ".hop = 160, .window = 400"),
    ("an argument is misspelt", ".samples = input", ".sample = input"),
    ("a param is misspelt", ".hop = 160", ".hopp = 160"),
    ("a param without default is missing", " .hop = 160,", ""),
    ("a scalar stands for an input", ".samples = input", ".samples = position"),
    ("rows stand for a scalar", ".position = position", ".position = input"),
    ("a param has no range", "Required<1, 8> rows", "Required<> rows"),
    ("a param is not listed", "LW_PARAMS(rows, copies)", "LW_PARAMS(rows)"),
    ("an argument is not listed", "LW_ARGUMENTS(x, y)", "LW_ARGUMENTS(x)"),
    ("a param is a number of another kind", ".window = 400", ".window = 400.5"),
]


def compiles(compiler, text):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", str(ROOT), "-I", str(ROOT / "runtime/include")]
    done = subprocess.run([*command, "-x", "c++", "-"], input=text, capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def main():
    compiler = sys.argv[1]
    good, message = compiles(compiler, PROGRAM)
    assert good, message

    def refused(mistake):
        what, right, wrong = mistake
        assert PROGRAM.count(right) == 1, right
        assert not compiles(compiler, PROGRAM.replace(right, wrong))[0], f"compiles although {what}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(refused, MISTAKES))
    print(f"{len(MISTAKES)} mistakes do not compile")


if __name__ == "__main__":
    main()
