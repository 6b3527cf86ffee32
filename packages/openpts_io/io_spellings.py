"""fio's spellings of the options of `openpts io`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import click
from click.core import ParameterSource

from openpts.errors import UsageError
from openpts.fields.fio_values import KIB_BASE, ORDERS, READ, TRIM, ValueTextError, time_ns, weighted_sizes
from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import BlockSize, OperationWeights
from openpts_io.io_options import LoadArgs
from openpts_io.io_stimulus import block_sizes

_MIXES: Final = ("rw", "readwrite", "randrw")


def in_own_words(load: LoadArgs) -> LoadArgs:
    """The options with fio's spellings replaced by ours. Raises UsageError where both are given."""
    own: dict[str, Any] = {}
    if load.rw is not None:
        own |= _operations(load.rw, load)
    elif load.rwmixread is not None:
        raise UsageError("--rwmixread applies to --rw randrw: use --mix otherwise")
    if load.bssplit is not None:
        _refuse_both("--bssplit", {"bs": "--bs"})
        own["bs"] = _sizes(load.bssplit)
    if load.runtime is not None:
        _refuse_both("--runtime", {"seconds": "--seconds"})
        try:
            own["seconds"] = time_ns(load.runtime, NS_PER_S) / NS_PER_S
        except ValueTextError as error:
            raise UsageError(f"invalid --runtime {load.runtime!r}: {error}") from error
        if not own["seconds"]:
            raise UsageError("invalid --runtime 0: a time of 0 does nothing")
    return replace(load, **own)


def _operations(word: str, load: LoadArgs) -> dict[str, Any]:
    _refuse_both("--rw", {"mix": "--mix", "ops": "--ops", "trim": "--trim", "pattern": "--pattern"})
    directions, random = ORDERS[word]
    if load.rwmixread is not None and word not in _MIXES:
        raise UsageError(f"--rwmixread applies to --rw randrw, not to --rw {word}")
    own: dict[str, Any] = {}
    if not (random and load.random_pct is not None):
        own["pattern"] = "random" if random else "sequential"
    if word in _MIXES:
        read_pct = 50 if load.rwmixread is None else load.rwmixread
        return own | {"mix": (read_pct, 100 - read_pct)}
    if directions == (TRIM,):
        return own | {"ops": OperationWeights(trim=1)}
    return own | {"mix": (100, 0) if directions == (READ,) else (0, 100)}


def _sizes(text: str) -> tuple[BlockSize, ...]:
    try:
        words = ",".join(f"{size}:{weight}" for size, weight in weighted_sizes(text, KIB_BASE).items())
    except ValueTextError as error:
        raise UsageError(f"invalid --bssplit {text!r}: {error}") from error
    return block_sizes("--bs", words)


def is_given(name: str) -> bool:
    """Whether the option was written on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in {None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP}


def _refuse_both(option: str, others: Mapping[str, str]) -> None:
    for name, other in others.items():
        if is_given(name):
            raise UsageError(f"{option} and {other} exclude each other: give one of them")
