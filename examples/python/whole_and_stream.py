"""whole_and_stream.py MODEL.lw: runs one random sequence whole and as a stream, and prints how far apart the two are.

The model needs one input and both entry points. Outputs are paired by name; only the rows both give are compared.
"""
import random
import sys

import longwave_ctypes as lw


def names(model, ask, n):
    info, result = lw.OutputInfo(), []
    for i in range(n):
        ask(model.handle, i, lw.c.byref(info))
        result.append((info.name.decode(), info.width))
    return result


def main():
    model = lw.Model(sys.argv[1])
    if not (model.info.has_run and model.info.has_stream and model.info.inputs == 1):
        sys.exit(f"{sys.argv[1]}: needs one input and both entry points")
    rng, ticks = random.Random(1), model.info.run_capacity
    if model.ids:
        x = [rng.randrange(model.input.vocabulary) for _ in range(ticks)]
    else:
        x = [rng.uniform(-0.1, 0.1) for _ in range(ticks * model.input.width)]

    whole = model.run(x)
    stream = lw.Stream(model)
    rows = [[] for _ in range(model.info.stream_outputs)]
    done = 0
    while done < len(x):  # pieces of any size: the result does not depend on them
        piece = model.input.width * rng.randint(1, 1000)
        for output, _, values in stream.push(x[done:done + piece]):
            rows[output] += values
        done += piece
    for output, _, values in stream.finish():
        rows[output] += values

    run_names = names(model, lw._lib.lw_model_run_output, model.info.run_outputs)
    for (name, width), streamed in zip(names(model, lw._lib.lw_model_stream_output, model.info.stream_outputs), rows):
        if (name, width) not in run_names:
            continue
        expected = whole[run_names.index((name, width))]
        n = min(len(expected), len(streamed))
        if len(expected) <= width < len(streamed):  # one row for the whole sequence: the stream's last is its equal
            streamed, n = streamed[-width:], width
        peak = max((abs(v) for v in expected[:n]), default=0) or 1
        worst = max((abs(a - b) for a, b in zip(expected[:n], streamed[:n])), default=0)
        print(f"{name}: {n // width} rows, stream and whole differ by {worst / peak:.2g} of the peak")
    stream.close()
    model.close()


if __name__ == "__main__":
    main()
