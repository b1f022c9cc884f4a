"""score.py MODEL.lw CORPUS ROWS: scores every file of a folder with Ray Data, and writes Parquet.

CORPUS is a folder with audio (.wav, .flac, .ogg, .opus, .aiff, .aif, .au, .caf, .w64, .rf64) for a keyword model, or text
(.txt) for a byte-level language model. Files with other names are left out and listed. CORPUS and ROWS may be addresses such as s3://bucket/folder. Run it again after an interruption: it goes on where it stopped.

A row is one file. Audio: path, seconds, words, scores, times. Text: path, bytes, bits_per_byte. A file that cannot be read
has its reason in `error`. The rows do not depend on the number of workers. Exit code 3: no file could be scored.
"""

import argparse
import hashlib
import io
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import ray
from pyarrow import fs

KINDS = {
    "audio": (".wav", ".flac", ".ogg", ".opus", ".aiff", ".aif", ".au", ".caf", ".w64", ".rf64"),
    "tokens": (".txt",),
}
SCHEMAS = {
    "audio": pa.schema(
        [
            ("path", pa.string()),
            ("seconds", pa.float64()),
            ("words", pa.list_(pa.string())),
            ("scores", pa.list_(pa.float32())),
            ("times", pa.list_(pa.float64())),
            ("error", pa.string()),
        ]
    ),
    "tokens": pa.schema(
        [("path", pa.string()), ("bytes", pa.int64()), ("bits_per_byte", pa.float64()), ("error", pa.string())]
    ),
}


def opened(address):
    """A file system and a folder of it: "folder" or "s3://bucket/folder"."""
    return fs.FileSystem.from_uri(address if "://" in address else str(pathlib.Path(address).resolve()))


def score_audio(longwave, model, data, channel):
    import soundfile

    try:
        audio, rate = soundfile.read(io.BytesIO(data), dtype="int16", always_2d=True)
    except soundfile.LibsndfileError as error:  # its text names an address in memory, which differs between workers
        raise ValueError(error.error_string) from error
    expected = model.info["inputs"][0]["sample_rate"]
    if rate != expected:
        raise ValueError(f"{rate} Hz, the model needs {expected} Hz")
    if not len(audio):
        raise ValueError("contains no samples")
    channels = audio.shape[1]
    if channel > channels or channels > 1 and not channel:
        raise ValueError(f"{channels} channels, the model takes one; choose it with --channel (1 is the first)")
    with longwave.Spotter(model) as spotter:
        events = spotter.push(np.ascontiguousarray(audio[:, max(channel, 1) - 1])) + spotter.finish()
    return {
        "seconds": len(audio) / rate,
        "words": [e.word for e in events],
        "scores": [e.score for e in events],
        "times": [e.seconds for e in events],
    }


def score_text(longwave, model, data, _):
    ids = np.frombuffer(data, np.uint8).astype(np.int32)
    bits, row = 0.0, 0
    with model.stream() as stream:
        for at in range(0, len(ids), 4096):
            logits = stream.process(ids[at : at + 4096], last=at + 4096 >= len(ids)).astype(np.float64)
            following = ids[row + 1 : row + 1 + len(logits)]  # row i says what comes after byte i
            row += len(logits)
            logits = logits[: len(following)]
            peak = logits.max(1)
            lost = peak + np.log(np.exp(logits - peak[:, None]).sum(1)) - logits[np.arange(len(following)), following]
            bits += float(lost.sum()) / np.log(2)
    return {"bytes": len(ids), "bits_per_byte": bits / max(len(ids) - 1, 1)}


class Scorer:
    """One per worker: opens the model once, then scores parts. A part is written whole or not at all."""

    def __init__(self, model_bytes, kind, digest, channel, corpus, rows):
        import longwave

        with tempfile.NamedTemporaryFile(suffix=".lw") as file:
            file.write(model_bytes)
            file.flush()
            self.model = longwave.open(file.name)
        self.longwave, self.kind, self.channel = longwave, kind, channel
        self.schema = SCHEMAS[kind].with_metadata({"model": digest})
        (self.files, self.corpus), (self.store, self.rows) = opened(corpus), opened(rows)

    def row(self, path):
        try:
            with self.files.open_input_stream(f"{self.corpus}/{path}") as file:
                data = file.read()
            found = (score_audio if self.kind == "audio" else score_text)(self.longwave, self.model, data, self.channel)
        except Exception as error:  # of one file: the others go on
            found = {"error": f"{type(error).__name__}: {error}"}
        return {name: found.get(name) for name in self.schema.names} | {"path": path}

    def __call__(self, part):
        paths = list(part["paths"][0])
        table = pa.Table.from_pylist([self.row(path) for path in paths], schema=self.schema)
        name = hashlib.sha256("\n".join(paths).encode()).hexdigest()[:16]  # a part that is done twice is the same file
        temporary = f"{self.rows}/.{name}-{os.getpid()}"
        parquet.write_table(table, temporary, filesystem=self.store)
        self.store.move(temporary, f"{self.rows}/{name}.parquet")
        errors = sum(error is not None for error in table["error"].to_pylist())
        return {"files": np.array([len(paths)]), "errors": np.array([errors])}


def done_files(rows, digest):
    """Paths that have a row. Rows of another model are an error."""
    store, folder = opened(rows)
    store.create_dir(folder, recursive=True)
    done = set()
    for info in store.get_file_info(fs.FileSelector(folder)):
        if info.path.endswith(".parquet"):
            table = parquet.read_table(info.path, columns=["path"], filesystem=store)
            if table.schema.metadata.get(b"model") != digest.encode():
                sys.exit(f"{info.path}: rows of another model; name another folder")
            done.update(table["path"].to_pylist())
        elif pathlib.PurePath(info.path).name.startswith("."):
            store.delete_file(info.path)  # of a worker that ended
    return done


def corpus_files(corpus, suffixes):
    """Paths to score, and paths whose names say that they are something else."""
    files, folder = opened(corpus)
    found = files.get_file_info(fs.FileSelector(folder, recursive=True))
    paths = sorted(info.path[len(folder) + 1 :] for info in found if info.is_file)
    kept = [path for path in paths if path.lower().endswith(suffixes)]
    return kept, [path for path in paths if not path.lower().endswith(suffixes)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model"), parser.add_argument("corpus"), parser.add_argument("rows")
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count(),
        help="actors that hold a model each (default: CPUs of this machine)",
    )
    parser.add_argument(
        "--part",
        type=int,
        default=64,
        help="files per Parquet file, which is what an interruption may cost (default: 64)",
    )
    parser.add_argument(
        "--address", help='of a Ray cluster, or "auto" on one of its machines (default: Ray on this machine alone)'
    )
    parser.add_argument(
        "--channel",
        type=int,
        default=0,
        help="channel to use of a file with several, 1 is the first (default: such a file is an error)",
    )
    options = parser.parse_args()
    if options.channel < 0:
        parser.error("--channel: 1 is the first")

    import longwave

    model_bytes = pathlib.Path(options.model).read_bytes()
    with longwave.open(options.model) as model:
        kind = model.info["inputs"][0]["kind"]
    if kind not in KINDS:
        sys.exit(f"{options.model}: needs audio or tokens, and reads {kind}")
    digest = hashlib.sha256(model_bytes).hexdigest()
    files, others = corpus_files(options.corpus, KINDS[kind])
    if others:
        print(
            f"{len(others)} other files left out: {', '.join(others[:5])}{', ...' if len(others) > 5 else ''}",
            flush=True,
        )
    if not files:
        print(f"{options.corpus}: contains no files that end with {', '.join(KINDS[kind])}", file=sys.stderr)
        sys.exit(3)
    done = done_files(options.rows, digest)
    left = [path for path in files if path not in done]
    print(f"{len(files)} files, {len(files) - len(left)} done before", flush=True)
    if not left:
        return
    ray.init(
        address=options.address,
        **({} if options.address else {"num_cpus": options.workers, "include_dashboard": False}),
    )
    ray.data.DataContext.get_current().enable_progress_bars = False  # the lines below tell more
    parts = [{"paths": left[at : at + options.part]} for at in range(0, len(left), options.part)]
    scored = ray.data.from_items(parts, override_num_blocks=len(parts)).map_batches(
        Scorer,
        batch_size=1,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=min(options.workers, len(parts))),
        fn_constructor_args=(
            model_bytes,
            kind,
            digest,
            options.channel,
            *(address if "://" in address else os.path.abspath(address) for address in (options.corpus, options.rows)),
        ),
    )
    began, count, errors = time.monotonic(), 0, 0
    for batch in scored.iter_batches(batch_size=None):
        count, errors = count + int(batch["files"].sum()), errors + int(batch["errors"].sum())
        print(
            f"{count} of {len(left)} files, {count / (time.monotonic() - began):.1f} per second, {errors} unreadable",
            flush=True,
        )
    if errors == len(files):
        print(f"{options.corpus}: no file could be scored; the reasons are in the column `error`", file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
