"""The benchmarks that openpts knows, each a TOML file of rows under ``catalogue``, and those of operators."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from openpts.errors import UsageError
from openpts.near_word import near_word
from openpts.procedures.kit.benchmark_profile import BenchmarkProfile
from openpts.procedures.shared.benchmark import CATALOGUE, NAMES, is_path
from openpts.procedures.shared.benchmark.benchmark_file import read_benchmark


class _Shipped(Mapping[str, BenchmarkProfile]):
    """Each is read when it is first asked for: a plan needs a few of them."""

    def __init__(self) -> None:
        self._read: dict[str, BenchmarkProfile] = {}

    def __getitem__(self, name: str) -> BenchmarkProfile:
        if name not in self._read:
            if name not in NAMES:
                raise KeyError(name)
            self._read[name] = read_benchmark(CATALOGUE / f"{name}.toml")
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


# SOL-BMK-07 to 10
BENCHMARKS: Final[Mapping[str, BenchmarkProfile]] = _Shipped()
"""By name, in alphabetical order."""

SHORT: Final = BENCHMARKS["short"]
"""Sequential and random, deep and shallow; rows that only write do so in the whole active range."""

POPULAR: Final = tuple(BENCHMARKS[name] for name in ("crystaldiskmark", "as-ssd", "solidigm-low"))
"""What is measured unless other benchmarks are asked for."""


def benchmark_of(word: str) -> BenchmarkProfile:
    """The benchmark of a name, or of the file at a path. Raises UsageError for what is neither.

    A file can't have the name or the title of a benchmark that ships and other rows: reports and comparisons
    would take one for the other.
    """
    if not is_path(word):
        if (found := BENCHMARKS.get(word)) is None:
            near = near_word(word, NAMES)
            meant = f"did you mean {near}? All" if near else "all"
            raise UsageError(
                f"{word!r} is not one of the benchmarks that ship: {meant} are in `openpts benchmarks list`; "
                "a file of your own is given by its path, such as ./mine.toml"
            )
        return found
    own = read_benchmark(Path(word))
    for shipped in BENCHMARKS.values():
        if own.rows == shipped.rows:
            continue
        if own.title == shipped.title:
            raise UsageError(f"{word}: title: {own.title!r} ships with other rows; use a title of your own")
        if own.name == shipped.name:
            raise UsageError(f"{word}: {own.name} ships with other rows; give the file another name")
    return own
