"""A folder from a published file of RWKV-7.

longwave rwkv RWKV-x070-World-0.1B.pth -o FOLDER
longwave compile FOLDER -o m.lw --stream

Reads a file of torch.save without PyTorch, and calls nothing that it names. Exit status 3: the file is refused, and nothing is
written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import output_files
from .archive import Archive
from .errors import Refused
from .folder import write


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="longwave rwkv", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="weights of RWKV-7, .pth")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="folder that is written")
    given = parser.parse_args(argv)
    try:
        output_files.check_folder(given.output)
        with Archive(given.file) as archive:
            count = write(archive, given.output)
    except Refused as error:
        print(f"error: {given.file}: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"error: {error.filename or given.file}: {error.strerror or error}", file=sys.stderr)
        return 4
    return output_files.print_result(f"{given.output}: {count} tensors")


if __name__ == "__main__":
    sys.exit(main())
