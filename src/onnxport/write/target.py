"""Where a model goes: a path or a binary stream. Paths are replaced whole or not touched."""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO

Target = str | os.PathLike[str] | BinaryIO


def path_of(f: Target) -> str | None:
    """The path, or None for a stream."""
    if isinstance(f, str | bytes | os.PathLike):
        return os.fsdecode(f)
    if callable(getattr(f, "write", None)):
        return None
    raise TypeError(f"f must be a path or a binary stream with write(), not {type(f).__name__}; it comes after args")


def is_device(path: str) -> bool:
    """True for /dev/null, pipes and the like: they are written to, not replaced."""
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


def check_path(path: str) -> None:
    """Raise what opening the path for writing would raise, and also if its folder can't take a new file."""
    folder = os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path) or os.curdir
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "the target is a folder", path)
    if not path:
        raise FileNotFoundError(errno.ENOENT, "the path of the target is empty", path)
    if not os.path.lexists(folder):
        raise FileNotFoundError(errno.ENOENT, "no such folder", folder)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", folder)
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file can't be written", path)
    if not is_device(path) and not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "the folder takes no new files", folder)


def check_stream(stream: BinaryIO) -> None:
    """Refuse text streams, closed ones and those open for reading only, without writing to them."""
    # Wrappers such as those of tempfile aren't TextIOBase but show the encoding of what they wrap.
    if isinstance(stream, io.TextIOBase) or isinstance(getattr(stream, "encoding", None), str):
        raise TypeError(f"a model is binary, {type(stream).__name__} takes text; open the file with mode 'wb'")
    if getattr(stream, "closed", False):
        raise ValueError("the stream is closed")
    writable = getattr(stream, "writable", None)
    if callable(writable) and not writable():
        raise io.UnsupportedOperation("the stream is not writable; open the file with mode 'wb'")


def send(stream: BinaryIO, pieces: Iterable[bytes | memoryview]) -> None:
    """Write all pieces. A raw stream may take less than it is given."""
    for piece in pieces:
        view = memoryview(piece)
        while view:
            written = stream.write(view)
            if written is None and isinstance(stream, io.RawIOBase):
                raise BlockingIOError(errno.EAGAIN, "the stream would block")
            view = view[len(view) if written is None else written :]


@contextmanager
def replacing(*paths: str) -> Iterator[list[BinaryIO]]:
    """Open a temporary file beside each path; at the end they take its place, all together or none."""
    pairs: list[tuple[str, str]] = []
    try:
        with ExitStack() as files:
            opened: list[BinaryIO] = []
            for path in paths:
                path = os.path.realpath(path)  # a link stays a link, as with open()
                pairs.append((_sibling(path), path))
                opened.append(files.enter_context(_opened(*pairs[-1])))
                if os.path.exists(path):
                    shutil.copymode(path, pairs[-1][0])
            yield opened
        _commit(pairs)
    finally:
        for temporary, _ in pairs:
            with suppress(FileNotFoundError):
                os.unlink(temporary)


def _opened(temporary: str, path: str) -> BinaryIO:
    try:
        return open(temporary, "xb")
    except OSError as error:  # of the folder: the name that nobody knows would only puzzle
        raise type(error)(error.errno, error.strerror, path) from None


def _commit(pairs: list[tuple[str, str]]) -> None:
    """Rename all; if one fails, the earlier ones are undone. The last rename is the decisive one."""
    old: list[str] = []
    with ExitStack() as undo:
        for temporary, path in pairs[:-1]:
            if os.path.lexists(path):
                old.append(_sibling(path))
                os.replace(path, old[-1])
                undo.callback(os.replace, old[-1], path)
                os.replace(temporary, path)
            else:
                os.replace(temporary, path)
                undo.callback(os.unlink, path)
        os.replace(*pairs[-1])
        undo.pop_all()
    for path in old:
        os.unlink(path)


def _sibling(path: str) -> str:
    return os.path.join(os.path.dirname(path), f".{secrets.token_hex(8)}.tmp")
