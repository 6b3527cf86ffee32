"""Changes of a sealed folder with a seed: of contents, names and kinds of files, of statement and seal."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from tests.mutations.mutator import damaged

STATEMENT: Final = "seal.json"
SIGNATURE: Final = "seal.json.sig"
_NAMES: Final = (
    *(b"run.db-wal", b"run.db-shm", b".hidden", b"seal.json.bak", b"report-short.html", b"data/more.csv"),
    *(b"input/seal.json", b"capture/capture-0001.parquet", b"\xff\xfe", b"data/\xc3\x28.csv", b"SHA256SUMS~"),
)

Contents = dict[str, bytes]


def contents_of(folder: Path) -> Contents:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class FolderChanges:
    """``seals`` are statements with signatures to put there instead, none of which counts."""

    def __init__(self, folder: Path, seals: Mapping[str, tuple[bytes, bytes]]) -> None:
        self.folder, self.seals = folder, seals
        self.before = contents_of(folder)
        self._names = sorted(self.before)

    @contextmanager
    def made(self, seed: int) -> Iterator[str]:
        """What was changed, in words; all is as before at the end."""
        chance = random.Random(seed)
        change = chance.choice(_CHANGES)
        after = dict(self.before)
        words = change(self, after, chance)
        gone = [name for name in self.before if name not in after]
        written = [name for name in after if self.before.get(name) != after[name]]
        link = words.startswith(_KIND) and words.rpartition(" ")[2]
        assert gone or written or link, f"seed {seed}, {words}: nothing was changed"
        for name in gone:
            (self.folder / name).unlink()
        for name in written:
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(after[name])
        try:
            yield words
        finally:
            if link:
                (self.folder / link).unlink()
                (self.folder / link).write_bytes(self.before[link])
            for name in written:
                (self.folder / name).unlink()
            for name in {*gone, *written} & self.before.keys():
                (self.folder / name).write_bytes(self.before[name])

    def some_name(self, chance: random.Random) -> str:
        """The seal and the record as often as all others together."""
        return chance.choice((STATEMENT, SIGNATURE, "run.db", *chance.choices(self._names, k=3)))

    def damage(self, after: Contents, chance: random.Random) -> str:
        name = self.some_name(chance)
        content = damaged(after[name], chance.getrandbits(63))
        after[name] = content if content != after[name] else content + b"\n"
        return f"damaged {name}"

    def flip(self, after: Contents, chance: random.Random) -> str:
        name = self.some_name(chance)
        content = bytearray(after[name])
        place = chance.randrange(len(content))
        content[place] ^= 1 << chance.randrange(8)
        after[name] = bytes(content)
        return f"bit of {name} at {place}"

    def reform(self, after: Contents, chance: random.Random) -> str:
        """What readers of armored text and of JSON let pass."""
        name = chance.choice((STATEMENT, SIGNATURE))
        content = after[name]
        place = chance.randrange(len(content) + 1)
        blank = chance.choice((b"\n", b" ", b"\r", b"\t", b"\0", b"="))
        after[name] = content[:place] + blank + content[place:]
        return f"blank in {name} at {place}"

    def rename(self, after: Contents, chance: random.Random) -> str:
        name = self.some_name(chance)
        ways = (f"{name}~", name.swapcase(), f"data/{name.replace('/', '-')}", f" {name}", f".{name}")
        other = chance.choice(ways)
        after[other] = after.pop(name)
        return f"{name} to {other}"

    def remove(self, after: Contents, chance: random.Random) -> str:
        name = self.some_name(chance)
        del after[name]
        return f"removed {name}"

    def add(self, after: Contents, chance: random.Random) -> str:
        name = os.fsdecode(chance.choice((*_NAMES, b"x%d" % chance.getrandbits(40))))
        after[name] = chance.choice((b"", chance.randbytes(9), after[self.some_name(chance)]))
        return f"added {name!r}"

    def swap(self, after: Contents, chance: random.Random) -> str:
        one, other = chance.sample(self._names, 2)
        after[one], after[other] = after[other], after[one]
        return f"{one} for {other}"

    def relink(self, _after: Contents, chance: random.Random) -> str:
        """A link to the same content, or a pipe that has none."""
        name = chance.choice(self._names)
        path, aside = self.folder / name, self.folder.parent / "aside"
        shutil.copyfile(path, aside)
        path.unlink()
        if chance.random() < 0.5:
            path.symlink_to(aside)
        else:
            os.mkfifo(path)
        return f"{_KIND} {name}"

    def restate(self, after: Contents, chance: random.Random) -> str:
        """The statement in its form, with another value, one less, or the digest of a changed file."""
        statement = json.loads(after[STATEMENT])
        if chance.random() < 0.3:
            name = chance.choice([one for one in self._names if one not in {STATEMENT, SIGNATURE}])
            after[name] += b"\n"
            (subject,) = [one for one in statement["subject"] if one["name"] == name]
            subject["digest"]["sha256"] = sha256(after[name]).hexdigest()
            words = f"stated {name} as it was changed"
        else:
            words = _edited(statement, chance)
        after[STATEMENT] = canonical(statement)
        return words

    def reseal(self, after: Contents, chance: random.Random) -> str:
        name = chance.choice(sorted(self.seals))
        after[STATEMENT], after[SIGNATURE] = self.seals[name]
        return f"seal {name}"


def canonical(statement: Any) -> bytes:
    return json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _edited(statement: Any, chance: random.Random) -> str:
    """Change one value somewhere in it."""
    place: Any = statement
    key: Any = "predicate"
    words = ["predicate"]
    while isinstance(value := place[key], dict | list) and value:
        place = value
        key = chance.choice(sorted(place)) if isinstance(place, dict) else chance.randrange(len(place))
        words.append(str(key))
    if chance.random() < 0.3 and isinstance(place, dict):
        del place[key]
    elif isinstance(value, bool) or value is None:
        place[key] = not value
    elif isinstance(value, int | float):
        place[key] = value * 2 + 1
    else:
        place[key] = f"{value}0" if value or value == "" else ["0"]
    return f"stated another {'.'.join(words)}"


_KIND: Final = "another kind of file in the place of"
_CHANGES: Final[tuple[Callable[[FolderChanges, Contents, random.Random], str], ...]] = (
    *(FolderChanges.damage, FolderChanges.damage, FolderChanges.flip, FolderChanges.flip),
    *(FolderChanges.reform, FolderChanges.rename, FolderChanges.remove, FolderChanges.add),
    *(FolderChanges.swap, FolderChanges.relink, FolderChanges.restate, FolderChanges.reseal),
)
