"""Values to the bytes that Set Features takes, by the declaration that decodes them."""

from collections.abc import Mapping, Sequence

from openpts_nvme.logs.declaration import Log
from openpts_nvme.logs.page import LogError, Value


def encode_feature(log: Log, values: Mapping[str, Value]) -> bytes:
    """The data of a feature, all fields of which are numbers and flags; those without a value are zeros.

    Raises LogError if a value does not fit in its field, or if there is no such field.
    """
    if unknown := sorted(set(values) - {field.name for field in log.fields}):
        raise LogError(f"{log.title} has no field {unknown[0]}")
    data = bytearray(log.length)
    for field in log.fields:
        value = values.get(field.name, 0)
        repeats: Sequence[Value] = value if isinstance(value, Sequence) else [value]
        for index, one in enumerate(repeats):
            raw, rest = divmod(one - field.plus, field.times) if field.name in values else (0, 0)
            at, low, width = field.place(index)
            if rest or not 0 <= raw < 1 << width or index >= (field.count or 1):
                raise LogError(f"{field.name}: {one} does not fit in {width} bits, in steps of {field.times}")
            here = slice(at, at + field.width)
            data[here] = (int.from_bytes(data[here], "little") | raw << low).to_bytes(field.width, "little")
    return bytes(data)
