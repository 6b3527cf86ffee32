"""Where an archive is: a folder, or a prefix in S3-compatible storage. Objects are written once, whole."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from msgspec import Struct

from openpts.errors import RecordError, UsageError
from openpts.run_folder_files import write_files

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_S3: Final = "s3://"
_DRAFTS: Final = ".openpts-"  # what is being written to a folder, or was when its process was killed
_AT_ONCE: Final = 16  # threads wait for the storage, and not for processors; each has an object in memory
_IN_HAND: Final = 1024  # what waits for a thread takes memory too

_A = TypeVar("_A")
_B = TypeVar("_B")


class Store(Struct, frozen=True):
    """Objects by their names relative to ``place``. Methods raise RecordError if the storage fails."""

    place: str
    _filesystem: "FileSystem"
    _root: str

    @classmethod
    def of(cls, place: str) -> Self:
        """The storage that an operator names: a folder, or ``s3://BUCKET/PREFIX``.

        Raises UsageError for another address, and without pyarrow.
        """
        if "://" in place and not place.startswith(_S3):
            scheme = place.partition("://")[0]
            raise UsageError(f"can't use {scheme}:// for an archive: name a folder or {_S3}BUCKET/PREFIX")
        try:
            from pyarrow import fs  # noqa: PLC0415 a package that only archives and notebooks need
        except ImportError:
            raise missing_packages() from None
        root = place.removeprefix(_S3).strip("/")
        if not place.startswith(_S3):
            return cls(place, fs.LocalFileSystem(), str(Path(place).absolute()))
        if not root:
            raise UsageError(f"{place} names no bucket: use {_S3}BUCKET/PREFIX")
        server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        with _told(f"can't reach {place}"):
            # what is small is one request then, which leaves nothing behind when it is cut off
            return cls(place, fs.S3FileSystem(endpoint_override=server, allow_delayed_open=True), root)

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine, or one that is mounted here."""
        return not self.place.startswith(_S3)

    def names(self, below: str = "") -> "dict[str, FileInfo]":
        """All objects below a folder, in the order of their names; none if there is no such folder."""
        from pyarrow import fs  # noqa: PLC0415 as above

        selector = fs.FileSelector(self._path(below), recursive=True, allow_not_found=True)
        with _told(f"can't list the archive {self.place}"):
            found = self._filesystem.get_file_info(selector)
        names = {info.path.removeprefix(f"{self._root}/"): info for info in found if info.is_file}
        # one with a slash at its end stands for a folder
        of_files = (name for name in names if not name.startswith(_DRAFTS) and not name.endswith("/"))
        return {name: names[name] for name in sorted(of_files)}

    def read(self, name: str) -> bytes:
        """An object's content. Raises FileNotFoundError if it is not there."""
        with (
            _told(f"can't read {name} of the archive {self.place}"),
            self._filesystem.open_input_file(self._path(name)) as file,
        ):
            content: bytes = file.read()
        return content

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write objects by their names; each is there as a whole when it is there at all, and lasts."""

        def put(name: str) -> None:
            with self._filesystem.open_output_stream(self._path(name)) as stream:
                stream.write(files[name])

        with _told(f"can't write into the archive {self.place}"):
            if self.is_local:
                root = Path(self._root)
                root.mkdir(parents=True, exist_ok=True)
                write_files(root, files)
            else:
                at_once(put, list(files))

    def remove(self, name: str) -> None:
        """Remove an object, or a folder with all that is in it; one that is gone already is no matter."""
        with _told(f"can't remove {name} from the archive {self.place}"), suppress(FileNotFoundError):
            path = self._path(name)
            [info] = self._filesystem.get_file_info([path])
            remove = self._filesystem.delete_file if info.is_file else self._filesystem.delete_dir
            remove(path)

    def url(self, name: str) -> str:
        """An object as DuckDB calls it, after ``prepare``."""
        return self._path(name) if self.is_local else f"{_S3}{self._path(name)}"

    def prepare(self, connection: Any) -> None:
        """Let DuckDB read these objects through Arrow, whose S3 client needs no extension from the net."""
        if self.is_local:
            return
        from fsspec.implementations.arrow import ArrowFSWrapper  # noqa: PLC0415 only for S3

        connection.register_filesystem(ArrowFSWrapper(self._filesystem))
        # threads wait for the storage, and not for processors
        connection.execute("SET threads = 32")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root


def at_once(do: Callable[[_A], _B], items: Sequence[_A]) -> list[_B]:
    """What comes of each, in their order: storage that takes long to answer answers many at a time.

    Raises what the first of them raises; those that have not begun are left.
    """
    done: list[_B] = []
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for first in range(0, len(items), _IN_HAND):
            done += threads.map(do, items[first : first + _IN_HAND])
    return done


def missing_packages() -> UsageError:
    """What to say where the packages of archives are not installed."""
    return UsageError("archives need DuckDB and pyarrow: pip install 'openpts[archive]'")


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:  # Arrow's have no strerror
        raise RecordError(f"{what}: {error.strerror or error}") from error
