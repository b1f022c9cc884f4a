"""The `longwave` command of the wheel: the program that comes with the package, with four commands of its own."""

import os
import subprocess
import sys

from longwave import cleanup
from longwave.programs import DEMO, program


def demo() -> int:
    """Compiles the keyword model and listens to a recording of eleven words."""
    with cleanup.watched(interrupt_ends=True), cleanup.temporary_folder("longwave-demo-") as folder:
        model = str(folder / "kws.lw")
        for command in (
            ["compile", str(DEMO / "model"), "-o", model, "--stream"],
            ["listen", model, str(DEMO / "demo.wav")],
        ):
            print("$ longwave " + " ".join(command), flush=True)
            with cleanup.started([program(), *command], stdin=subprocess.DEVNULL) as process:
                status = process.wait()
            if status:
                return status
    return 0


def main() -> int:
    """The `longwave` command of the wheel. `longwave demo`, `import`, `rwkv` and `words` are its own; the others are the program's."""
    if sys.argv[1:] == ["demo"]:
        return demo()
    if sys.argv[1:2] == ["import"]:
        from longwave.importer.__main__ import main as import_main

        return int(import_main(sys.argv[2:]))
    if sys.argv[1:2] == ["rwkv"]:
        from longwave.rwkv.__main__ import main as rwkv_main

        return int(rwkv_main(sys.argv[2:]))
    if sys.argv[1:2] == ["words"]:
        from longwave.words.__main__ import main as words_main

        return int(words_main(sys.argv[2:]))
    os.execv(program(), ["longwave", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
