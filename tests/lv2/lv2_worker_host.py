"""A host for plug-ins whose file is chosen while they play: URIDs, messages, a worker thread, a log and state.

With watched.c in LD_PRELOAD, it requires that the audio thread neither allocates, locks nor opens a file.
"""

import contextlib
import ctypes
import struct
import threading

from lv2_host import load

ATOM, PATCH = "http://lv2plug.in/ns/ext/atom#", "http://lv2plug.in/ns/ext/patch#"
WORKER, STATE = "http://lv2plug.in/ns/ext/worker#", "http://lv2plug.in/ns/ext/state#"
BUFFER = 8192  # bytes of a port of messages

RESPOND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)
SCHEDULE = RESPOND
MAP = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_char_p)
STORE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint32
)
RETRIEVE = ctypes.CFUNCTYPE(
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.POINTER(ctypes.c_uint32),
)
PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_void_p)
WATCHED = ctypes.CDLL(None)
if hasattr(WATCHED, "watched_run"):
    WATCHED.watched_job.restype = ctypes.c_void_p
else:
    WATCHED = None


class Feature(ctypes.Structure):
    _fields_ = [("uri", ctypes.c_char_p), ("data", ctypes.c_void_p)]


class Callback(ctypes.Structure):
    """A handle and a function: LV2_URID_Map and LV2_Worker_Schedule."""

    _fields_ = [("handle", ctypes.c_void_p), ("function", ctypes.c_void_p)]


class Log(ctypes.Structure):
    _fields_ = [("handle", ctypes.c_void_p), ("printf", ctypes.c_void_p), ("vprintf", ctypes.c_void_p)]


class WorkerInterface(ctypes.Structure):
    _fields_ = [
        (
            "work",
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, RESPOND, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p),
        ),
        ("work_response", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p)),
        ("end_run", ctypes.c_void_p),
    ]


class StateInterface(ctypes.Structure):
    _fields_ = [
        (
            "save",
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, STORE, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p),
        ),
        (
            "restore",
            ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.c_void_p, RETRIEVE, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p
            ),
        ),
    ]


def padded(data):
    return data + bytes(-len(data) % 8)


class Host:
    """One plug-in at a rate. `channels`: in and out. Jobs wait for work(), which a thread of its own does."""

    def __init__(self, bundle, binary, uri, rate, channels, features=True):
        self.channels, self.uris, self.jobs, self.answers = channels, {}, [], []
        self.log, self.saved, self.told, self.full = "", {}, [], ctypes.c_int(False)
        _first, self.library = load(bundle / binary)
        self.library.lv2_descriptor.argtypes = [ctypes.c_uint32]
        found = (self.library.lv2_descriptor(i) for i in range(8))
        self.plugin = next(each.contents for each in found if each and each.contents.uri == uri.encode())
        extension = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(self.plugin.extension_data)
        self.worker = ctypes.cast(extension(f"{WORKER}interface".encode()), ctypes.POINTER(WorkerInterface)).contents
        self.state = ctypes.cast(extension(f"{STATE}interface".encode()), ctypes.POINTER(StateInterface)).contents
        self.instance = self.plugin.instantiate(
            ctypes.addressof(self.plugin), rate, f"{bundle}/".encode(), self.features() if features else None
        )
        if not self.instance:
            return
        self.latency = ctypes.c_float(-1)
        self.control, self.notify = (ctypes.create_string_buffer(BUFFER) for _ in range(2))
        if features:
            self.plugin.connect_port(self.instance, 0, ctypes.addressof(self.control))
            self.plugin.connect_port(self.instance, 1, ctypes.addressof(self.notify))
        self.plugin.connect_port(self.instance, 2 + 2 * channels, ctypes.addressof(self.latency))
        self.plugin.activate(self.instance)

    def features(self):
        def schedule(_handle, size, data):
            if self.full.value:
                return 3
            self.jobs.append(ctypes.string_at(data, size))
            return 0

        # vsnprintf gives the text of a va_list, which ctypes passes on as a pointer (x86-64, AArch64 by address).
        libc = ctypes.CDLL(None)

        def vprint(_handle, _kind, form, arguments):
            text = ctypes.create_string_buffer(4096)
            libc.vsnprintf(text, ctypes.c_size_t(4096), ctypes.c_char_p(form), ctypes.c_void_p(arguments))
            self.log += text.value.decode()
            return 0

        self.kept = [MAP(lambda _handle, uri: self.urid(uri.decode())), SCHEDULE(schedule), PRINT(vprint)]
        pointers = [ctypes.cast(each, ctypes.c_void_p) for each in self.kept]
        if WATCHED:
            pointers[1] = ctypes.cast(WATCHED.watched_schedule, ctypes.c_void_p)
        worker = Callback(ctypes.addressof(self.full), pointers[1])
        structs = [Callback(None, pointers[0]), worker, Log(None, None, pointers[2])]
        names = ("http://lv2plug.in/ns/ext/urid#map", f"{WORKER}schedule", "http://lv2plug.in/ns/ext/log#log")
        made = [Feature(name.encode(), ctypes.addressof(each)) for name, each in zip(names, structs)]
        array_of = (ctypes.c_void_p * 4)(*map(ctypes.addressof, made), None)
        self.kept += [structs, made, array_of]
        return ctypes.cast(array_of, ctypes.c_void_p)

    def urid(self, uri):
        return self.uris.setdefault(uri, len(self.uris) + 1)

    def object(self, kind, *members):
        """The bytes of an event at the start of a block."""
        body = struct.pack("<II", 0, self.urid(PATCH + kind))
        for key, type_of, value in members:
            body += padded(
                struct.pack("<IIII", self.urid(PATCH + key), 0, len(value), self.urid(ATOM + type_of)) + value
            )
        return padded(struct.pack("<qII", 0, len(body), self.urid(f"{ATOM}Object")) + body)

    def set_path(self, parameter, path):
        return self.object(
            "Set",
            ("property", "URID", struct.pack("<I", self.urid(parameter))),
            ("value", "Path", str(path).encode() + b"\0"),
        )

    def run(self, parts, events=b""):
        """Replaces the samples of all channels in place, as hosts may ask. All parts have equal lengths."""
        n = len(parts[0])
        body = struct.pack("<II", 0, 0) + events
        self.control[: 8 + len(body)] = struct.pack("<II", len(body), self.urid(f"{ATOM}Sequence")) + body
        struct.pack_into("<II", self.notify, 0, BUFFER - 8, self.urid(f"{ATOM}Chunk"))
        buffers = [(ctypes.c_float * max(n, 1)).from_buffer(part) for part in parts] if n else []
        for port in range(2 * self.channels):
            if n:
                self.plugin.connect_port(self.instance, 2 + port, ctypes.addressof(buffers[port % self.channels]))
        self.in_audio_thread(n)
        size, kind = struct.unpack_from("<II", self.notify, 0)
        assert kind == self.urid(f"{ATOM}Sequence")
        if size > 8:
            self.told.append(bytes(self.notify[16 : 8 + size]))

    def in_audio_thread(self, n):
        answers, self.answers = self.answers, []
        if not WATCHED:
            self.plugin.run(self.instance, n)
            for answer in answers:
                self.worker.work_response(self.instance, len(answer), answer)
            return
        instance = ctypes.c_void_p(self.instance)
        calls = WATCHED.watched_run(self.plugin.run, instance, n)
        for answer in answers:
            calls += WATCHED.watched_response(self.worker.work_response, instance, len(answer), answer)
        assert calls == 0, f"the audio thread made {calls} calls that allocate, lock or open"
        size = ctypes.c_uint32()
        while job := WATCHED.watched_job(ctypes.byref(size)):
            self.jobs.append(ctypes.string_at(job, size.value))

    def work(self):
        """All jobs that wait, in another thread."""
        if not self.jobs:
            return

        def answer(_handle, size, data):
            self.answers.append(ctypes.string_at(data, size))
            return 0

        def do():
            while self.jobs:
                job = self.jobs.pop(0)
                self.worker.work(self.instance, respond, None, len(job), job)

        respond = RESPOND(answer)
        thread = threading.Thread(target=do)
        thread.start()
        thread.join()

    def save(self):
        def store(_handle, key, value, size, type_of, _flags):
            self.saved[key] = (ctypes.string_at(value, size), type_of)
            return 0

        return self.state.save(self.instance, STORE(store), None, 0, (ctypes.c_void_p * 1)(None))

    def restore(self, saved):
        """`saved`: by URI, path."""
        texts = {self.urid(uri): ctypes.create_string_buffer(path.encode()) for uri, path in saved.items()}

        def retrieve(_handle, key, size, type_of, flags):
            if key not in texts:
                return None
            size[0], type_of[0], flags[0] = len(texts[key]), self.urid(f"{ATOM}Path"), 3
            return ctypes.addressof(texts[key])

        return self.state.restore(self.instance, RETRIEVE(retrieve), None, 0, (ctypes.c_void_p * 1)(None))

    def close(self):
        self.plugin.cleanup(self.instance)


@contextlib.contextmanager
def host(*arguments, **named):
    made = Host(*arguments, **named)
    try:
        yield made
    finally:
        if made.instance:
            made.close()
