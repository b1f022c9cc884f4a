"""generate.py MODEL.lw COUNT STATE [PROMPT]: COUNT bytes of text from Python, as c/generate.c writes them.

Where the file STATE is, it goes on from there; PROMPT comes behind it. STATE is written anew at the end.
"""
import ctypes as c
import os
import sys

import longwave_ctypes as lw

_u32, _u64, _size, _float = c.c_uint32, c.c_uint64, c.c_size_t, c.c_float
Options = lw._struct("Options", (_u64, "seed"), (_float, "temperature"), (_u32, "top_k"),
                     (_float, "top_p min_p repetition_penalty"), (_u32, "repetition_window recent"),
                     (c.c_int, "log_probabilities"), (c.c_void_p, "biases"), (_size, "n_biases"),
                     (c.c_void_p, "stops"), (_size, "n_stops"))
Token = lw._struct("Token", (c.c_int32, "id"), (_float, "log_probability"), (_u64, "position"),
                   (_u32, "stop held"))


class Generator:
    """Ids behind a prompt; options as in longwave/generator.h."""

    def __init__(self, model, **options):
        if 1 not in model.blocks():
            raise lw.Error("no stream entry of one id at a time: compile with --blocks 1,64")
        self.model, self.handle = model, c.c_void_p()
        self.stream = lw.Stream(model, entry=model.blocks().index(1))
        create = lw._lib.lw_generator_create
        lw._check(create(self.stream.handle, c.byref(Options(**options)), c.byref(self.handle)))

    def prompt(self, ids):
        lw._check(lw._lib.lw_generator_prompt(self.handle, self.model.array(ids), _size(len(ids))))

    def __iter__(self):  # without end, or to a stop sequence
        token = Token()
        while lw._check(lw._lib.lw_generator_next(self.handle, c.byref(token)), lw.END) == 0:
            yield token.id

    def save(self):
        n = _size()
        lw._check(lw._lib.lw_generator_save(self.handle, None, n, c.byref(n)))
        state = c.create_string_buffer(n.value)
        lw._check(lw._lib.lw_generator_save(self.handle, state, n, c.byref(n)))
        return state.raw

    def load(self, state):
        lw._check(lw._lib.lw_generator_load(self.handle, state, _size(len(state))))

    def close(self):
        lw._lib.lw_generator_destroy(self.handle)
        self.handle = c.c_void_p()
        self.stream.close()


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: generate.py MODEL.lw COUNT STATE [PROMPT]")
    model, count, path = lw.Model(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    if model.ids and model.input.vocabulary != 256:
        sys.exit(f"{sys.argv[1]}: its tokens are no bytes")
    generator = Generator(model, seed=1, temperature=0.8, top_p=0.95)
    if os.path.exists(path):
        with open(path, "rb") as file:
            generator.load(file.read())
    if len(sys.argv) > 4:
        generator.prompt(os.fsencode(sys.argv[4]))
    for _, id in zip(range(count), generator):
        sys.stdout.buffer.write(bytes([id]))
        sys.stdout.buffer.flush()
    with open(path, "wb") as file:
        file.write(generator.save())
    generator.close()
    model.close()


if __name__ == "__main__":
    try:
        main()
    except lw.Error as error:
        sys.exit(str(error))
