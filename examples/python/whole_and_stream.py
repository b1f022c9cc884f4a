"""whole_and_stream.py MODEL.lw: one random sequence whole and as a stream, and how far apart they are.

The model needs one input and both entry points. Outputs are paired by name; only rows both give are compared.
"""
import random
import sys

import longwave_ctypes as lw


def random_input(model, rng):
    ticks = model.info.run_capacity
    if model.ids:
        return [rng.randrange(model.input.vocabulary) for _ in range(ticks)]
    return [rng.uniform(-0.1, 0.1) for _ in range(ticks * model.input.width)]


def stream_in_pieces(model, x, rng):
    """The values of each output, row after row. The result does not depend on the sizes of the pieces."""
    stream = lw.Stream(model)
    outputs = [[] for _ in model.stream_outputs]
    done = 0
    while done < len(x):
        piece = model.input.width * rng.randint(1, 1000)
        for index, _, row in stream.push(x[done:done + piece]):
            outputs[index] += row
        done += piece
    for index, _, row in stream.finish():
        outputs[index] += row
    stream.close()
    return outputs


def compare(name, width, whole, streamed):
    if len(whole) == width < len(streamed):  # one row for the whole: the stream's last row is its equal
        streamed = streamed[-width:]
    n = min(len(whole), len(streamed))
    peak = max((abs(v) for v in whole[:n]), default=0) or 1
    worst = max((abs(a - b) for a, b in zip(whole[:n], streamed[:n])), default=0)
    print(f"{name}: {n // width} rows, stream and whole differ by {worst / peak:.2g} of the peak")


def main():
    model = lw.Model(sys.argv[1])
    if not (model.info.has_run and model.info.has_stream and model.info.inputs == 1):
        sys.exit(f"{sys.argv[1]}: needs one input and both entry points")
    rng = random.Random(1)
    x = random_input(model, rng)
    whole = {output.name: values for output, values in zip(model.run_outputs, model.run(x))}
    for output, streamed in zip(model.stream_outputs, stream_in_pieces(model, x, rng)):
        if output.name in whole:
            compare(output.name.decode(), output.width, whole[output.name], streamed)
    model.close()


if __name__ == "__main__":
    main()
