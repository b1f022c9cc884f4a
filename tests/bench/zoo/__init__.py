"""Model packages of the published configurations: their sizes as data, seeded random weights or a checkpoint,
a table of what they cost.

    tests/bench/zoo/run list
    tests/bench/zoo/run write NAME FOLDER [--seed N | --checkpoint FILE]
    tests/bench/zoo/run table [NAME ...]

`list` and `write` need numpy alone (checkpoints other than safetensors: PyTorch); `table` needs the built
`longwave`.
"""
