"""A drive that conforms to OCP 2.7 in all that it answers, made of pages as the specification lays them out.

The pages are written here a second time, from the specification's tables and not from the product's checks;
what the specification leaves open is drawn.
"""

import struct
from random import Random
from typing import Final

from openpts_testbench.overrides import Override

Key = tuple[str, int]
Patch = tuple[Key, int, bytes]

SERIAL: Final = b"OCPDRIVE0001".ljust(20)
FIRMWARE: Final = b"10.1.12 "
FEATURES: Final = (0xC0, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB)
SAVED: Final = {0xC2, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xCA, 0xCB}
DWORDS: Final = {
    **dict.fromkeys((0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x27, 0x28, 0x2A, 0x2B), 2),
    **dict.fromkeys((0x32, 0x33, 0x34, 0x37, 0x38), 2),
    **dict.fromkeys((0x3D, 0x3E, 0x3F, 0x40, 0x41, 0x44, 0x6B), 2),
    **dict.fromkeys((0x1E, 0x1F, 0x36, 0x39, *range(0x4D, 0x57), 0x66, 0x67, 0x68, 0x69), 4),
}  # fmt: skip
FIRST_HEALTH, LAST_HEALTH = 0x1E, 0x6C


def le(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


def guid(text: str) -> bytes:
    return bytes.fromhex(text)[::-1]


class OcpDrive:
    """Pages that replace the served drive's, and patches of those that it has."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.pages: dict[Key, bytearray] = {}
        self.patches: list[Patch] = []
        self.watts = sorted(self.draw.sample(range(8, 41), self.draw.randint(2, 10)), reverse=True)
        self.nuse = self.draw.randrange(1 << 30)
        self.dies = self.draw.randrange(64, 1024)
        self.strings_dwords = 0
        self._identify()
        self._standard_logs()
        self._health()
        self._latency()
        self._recovery()
        self._capabilities()
        self._unsupported()
        self._components()
        self._tcg()
        self._strings()
        self._telemetry()
        self._features()
        self._registers()

    def overrides(self, *more: Patch) -> tuple[object, ...]:
        """As the served drive takes them; ``more`` are patched last."""
        found = []
        for (kind, number), page in self.pages.items():
            found.append(Override(**self._named(kind, number), page=page.hex()))
        for (kind, number), at, data in (*self.patches, *more):
            found.append(Override(**self._named(kind, number), at=at, bytes=data.hex()))
        found.append(Override(command=0x08, status=0x02))
        return tuple(each.ordered() for each in found)

    @staticmethod
    def _named(kind: str, number: int) -> dict[str, int]:
        if kind == "feature":
            return {"feature": number & 0xFF, "select": number >> 8}
        return {kind: number}

    def page(self, kind: str, number: int, size: int) -> bytearray:
        return self.pages.setdefault((kind, number), bytearray(size))

    def patch(self, kind: str, number: int, at: int, data: bytes) -> None:
        self.patches.append(((kind, number), at, data))

    def count(self, bits: int) -> int:
        return self.draw.randrange(1 << self.draw.randrange(1, bits))

    def _identify(self) -> None:
        one = [
            (4, SERIAL), (24, b"OCP DRIVE".ljust(40)), (64, FIRMWARE), (77, le(6, 1)),
            (92, le(0x300, 4)), (96, le(1 << 21, 4)), (111, b"\1"),
            (256, le(0x45F | 1 << 6, 2)), (259, b"\3"), (260, b"\x17"),
            (261, le(1 << 1 | 1 << 2 | 1 << 3 | 1 << 4, 1)), (262, b"\xff"),
            (263, le(len(self.watts) - 1, 1)), (266, le(350, 2)), (268, le(358, 2)),
            (270, le(self.draw.randint(1, 10), 2)), (272, bytes(8)),
            (280, le(self.draw.randint(1 << 40, 1 << 44), 16)), (296, bytes(16)),
            (316, le(self.draw.randint(1, 30), 2)), (319, b"\1"),
            (328, le(0xF | 1 << 30, 4)), (340, le(1, 2)),
            (352, le(self.draw.randint(80, 400), 4)), (512, b"\x66\x44"), (516, le(128, 4)),
            (520, le(0x14D | self.draw.randint(0, 1) << 1, 2)), (522, le(1, 2)), (524, b"\4"), (525, b"\6"),
            (528, le(63, 2)), (534, le(1, 2)), (536, le(1 | 1 << 19, 4)),
        ]  # fmt: skip
        for at, data in one:
            self.patch("identify", 1, at, data)
        for number, watts in enumerate(self.watts):
            self.patch("identify", 1, 2048 + 32 * number, le(watts * 100, 2) + bytes(30))
        gigabytes = self.draw.choice((960, 1920, 3840, 7680))
        blocks = 12_212_046 + 244_188 * (gigabytes - 50)
        for at, data in (
            (0, le(blocks, 8)), (8, le(blocks, 8)), (16, le(self.nuse, 8)), (24, b"\x18\1\0"),
            (32, b"\x80\x09"), (64, le(self.draw.choice((0, 3)), 2)), (120, b"\x11" * 8),
            (128, le(12 << 16, 4) + le(9 << 16, 4)),
        ):  # fmt: skip
            self.patch("identify", 0, at, data)
        uuids = self.page("identify", 0x17, 4096)
        uuids[48:64] = bytes.fromhex("C194D55BE0944794A21D29998F56BE6F")
        granularity = self.page("identify", 0x16, 4096)
        granularity[32:40] = le(1 << 30, 8)

    def _standard_logs(self) -> None:
        for number, size in (
            (4, 4096), (8, 512), (0xE, 16), (0x12, 1024), (0x13, 4096), (0x14, 512), (0x19, 512), (0x25, 512),
        ):  # fmt: skip
            self.page("log", number, size)
        for at in (8, 0x34, 0x54, 0x44, 0x200):
            self.patch("log", 5, at, le(1, 1))
        for at in (8, 36, 40):
            self.patch("log", 5, at, le(1 | 1 << 19, 4))
        self.pages["log", 0x25][2] = 1 << 3
        events = self.page("log", 0xD, 512)
        events[480:482] = b"\xfe\x37"
        events[507] = 0x40
        energy = self.draw.randrange(1, 1 << 40)
        self.energy_wh = energy
        for at, data in ((200, le(310, 2)), (232, le(energy, 8)), (240, le(900 | 1 << 16, 4)), (0, b"\0")):
            self.patch("log", 2, at, data)
        self.patch("log", 2, 1, le(self.draw.randint(300, 345), 2))
        self.patch("log", 2, 3, bytes((self.draw.randint(20, 100), 10, self.draw.randint(0, 90))))
        self.cycles = self.count(60)
        self.patch("log", 2, 112, le(self.cycles, 16))
        self.patch("log", 2, 128, le(self.count(40) + 1, 16))
        self.spare = self.patches[-3][2]
        group = self.page("log", 9, 512)
        self.endurance = self.draw.randrange(1, 1 << 30)
        group[32:48] = le(self.endurance, 16)

    def _health(self) -> None:
        log = self.page("log", 0xC0, 512)
        c = self.count
        log[0:16], log[16:32] = le(c(80) + 1, 16), le(c(80) + 1, 16)
        log[32:38], log[38:40] = le(c(30), 6), le(self.draw.randint(0, 100), 2)
        log[40:46], log[46:48] = le(c(30), 6), le(self.draw.randint(0, 100), 2)
        if self.draw.random() < 0.2:
            log[40:48] = b"\xff" * 8
        for at in (48, 56, 64, 104, 136, 144, 192, 200):
            log[at : at + 8] = le(c(60), 8)
        corrected = c(20)
        log[72:76], log[76:80] = le(corrected + c(10), 4), le(corrected, 4)
        log[80], log[81:88] = self.draw.randint(0, 255), le(c(50), 7)
        least = c(12)
        log[88:92], log[92:96] = le(least + c(10), 4), le(least, 4)
        log[96], log[97] = self.draw.randint(0, 255), 0
        log[99:104] = le(0, 2) + le(7, 2) + b"\2"
        log[112:116], log[120] = le(c(20), 4), self.draw.randint(0, 100)
        log[128:130] = le(self.draw.choice((0xFFFF, 1, 100, 180)), 2)
        log[130:134] = bytes(self.draw.choice((0, 97, 98)) for _ in range(4))
        log[134:136] = le(c(10), 2)
        log[152:160], log[160:176] = le(self.nuse, 8), le(c(60), 16)
        log[176:192] = le(self.endurance * 10**9 + self.draw.randrange(10**9), 16)
        log[208:216] = self.draw.choice((bytes(8), b"1.0.0   "))
        log[216:218], log[218:220] = le(self.dies, 2), le(self.draw.randint(0, 3), 2)
        log[220:222], log[222], log[223] = le(self.draw.randint(0, 3), 2), 80, 0x20
        log[224:232], log[232:236] = le(least, 8), le(c(20) + 1, 4)
        for at in (236, 244, 252):
            log[at : at + 4], log[at + 4] = le(c(20), 4), self.draw.randint(0, 100)
        log[260:262], log[262:264] = le(35, 2), le(self.draw.randint(1, 35), 2)
        log[264:270] = le(self.energy_wh // 1000, 6)
        log[270:278], log[278:294] = FIRMWARE, self.draw.randbytes(15) + b"\1"
        log[294:358] = self.draw.choice((bytes(64), b"Workaround for issue 12345".ljust(64)))
        log[358:364], log[364:366] = le(c(30), 6), le(self.draw.randint(0, 100), 2)
        log[494:496], log[496:512] = le(6, 2), guid("AFD514C97C6F4F9CA4F2BFEA2810AFC5")

    def _latency(self) -> None:
        log = self.page("log", 0xC3, 512)
        log[0] = 0x07
        log[2:4], log[4:6] = le(self.draw.randrange(0x7E0), 2), le(0x7E0, 2)
        log[6:10] = bytes(sorted(self.draw.sample(range(256), 4)))
        log[10:12], log[12] = le(0xFFF, 2), 0x0A
        for base, stamp, latency in ((32, 168, 210), (240, 376, 418)):
            for bucket in range(4):
                for operation in range(3):
                    counter = self.draw.choice((0, 0, self.count(20)))
                    at = base + 16 * bucket + 4 + 4 * operation
                    log[at : at + 4] = le(counter, 4)
                    where = stamp - 24 * bucket + 8 * operation
                    log[where : where + 8] = le(self.count(40), 8) if counter else b"\xff" * 8
                    where = latency - 6 * bucket + 2 * operation
                    log[where : where + 2] = le(self.draw.randrange(1, 900) if counter else 0, 2)
        log[460:462] = le(0xCA, 2)
        log[462:464] = le(self.draw.choice((0, 1, 512)), 2)
        log[452:460] = b"\xff" * 8
        log[494:496], log[496:512] = le(5, 2), guid("85D45E58D4E643709C6C84D08CC07A92")

    def _recovery(self) -> None:
        log = self.page("log", 0xC1, 512)
        log[0:2], log[2], log[3] = le(500, 2), self.draw.choice((0, 1, 3)), self.draw.choice((0, 1, 4))
        log[4:12] = le(self.draw.choice((0, 1, 0x10000, 1 << 40)), 8)
        log[12] = self.draw.randint(0, 3)
        if log[3] == 4:
            log[16], log[20], log[24] = 0xC5, 1, 2
        log[31] = self.count(8)
        errors = self.draw.randint(0, 4)
        log[32 : 32 + 8 * errors] = b"".join(le(0x10000 + n, 8) for n in range(errors))
        log[494:496], log[496:512] = le(3, 2), guid("5A1983BA3DFD4DABAE3430FE2131D944")

    def _capabilities(self) -> None:
        log = self.page("log", 0xC4, 4096)
        uncorrectable = next(data for key, at, data in self.patches if key == ("identify", 1) and at == 520)
        log[0:2], log[2:4] = le(1, 2), le(0x8007, 2)
        log[4:6], log[6:8], log[8:10] = le(0x801F, 2), le(0x801F, 2), le(0x8003, 2)
        log[10:12] = le(0x800F if uncorrectable[0] & 2 else 0, 2)
        log[12:14] = le(0x8001, 2)
        self.least_watts = self.watts[-1]
        log[14:16] = le(self.least_watts, 2)
        for number in range(self.least_watts, 128):
            state = next(place for place, watts in enumerate(self.watts) if watts <= number)
            log[16 + number] = 0x80 | state
        log[144:146] = le(self.draw.randint(0, 4), 2)
        log[4078:4080], log[4080:4096] = le(2, 2), guid("B7053C914B58495D98C9E1D10D054297")

    def _unsupported(self) -> None:
        log = self.page("log", 0xC5, 4096)
        names = self.draw.choice(((), ("EYE-1",), ("DP-CFG-4", "FFM2-1", "NVMe-MI-2", "SEC-13")))
        log[0:2] = le(len(names), 2)
        for place, name in enumerate(names):
            log[16 + 16 * place : 32 + 16 * place] = name.encode().ljust(16, b"\0")
        log[4078:4080], log[4080:4096] = le(1, 2), guid("C7BB98B7D0324863BB2C23990E9C722F")

    def _components(self) -> None:
        alone = {9: SERIAL, 10: b"Elbonia ", 11: b"REV1", 12: b"02292024"}
        parts = b""
        kinds = [1, 2, 3, 4, 5, *(self.draw.sample((6, 7, 8, 0x8001), self.draw.randint(0, 4))), *alone]
        for kind in kinds:
            if kind in alone:
                text = alone[kind]
                parts += struct.pack("<QQI24x", 0, len(text) // 4, kind) + text
            else:
                lot = self.draw.randint(0, 2)
                parts += struct.pack("<QQIQQQ", lot, 1, kind, 0x2C, 1, 7) + b"L" * 4 * lot + b"DATA"
        log = self.page("log", 0xC6, 64 + len(parts))
        log[0:2], log[16:32] = le(2, 2), guid("BCB6821F30CD4ED0B76B31B99F0F57DC")
        log[32:48] = le(64 + len(parts), 16)
        log[64:] = parts

    def _tcg(self) -> None:
        log = self.page("log", 0xC7, 512)
        log[4:10] = le(1, 2) + le(2, 2) + le(1, 2)
        if self.draw.random() < 0.5:
            log[0], log[10:12], log[12:14], log[14:16] = 4, le(9, 2), le(2, 2), le(3, 2)
        log[26:30], log[30:34] = le(self.draw.randint(0, 10), 4), le(10, 4)
        log[494:496], log[496:512] = le(3, 2), guid("54E02A9DFA5447C083E6E07EBD244006")

    def _strings(self) -> None:
        def entry(key: bytes, text: bytes, table: bytearray) -> bytes:
            at = len(table) // 4
            table += text + b" " * (-len(text) % 4)
            return key + bytes((len(text) - 1,)) + le(at, 8) + bytes(4)

        table = bytearray()
        statistics = b"".join(
            entry(le(0x8000 + n, 2) + b"\0", b"Statistic %d" % n, table)
            for n in range(self.draw.randint(1, 4))
        )
        events = b"".join(entry(bytes((0x80,)) + le(n, 2), b"Event %d!" % n, table) for n in range(2))
        vendor = b"".join(entry(bytes((3 + n,)) + le(n, 2), b"VU %d" % n, table) for n in range(2))
        sizes = [len(each) // 4 for each in (statistics, events, vendor, table)]
        starts = [0x6C, 0x6C + sizes[0], 0x6C + sum(sizes[:2]), 0x6C + sum(sizes[:3])]
        self.strings_dwords = 0x6C + sum(sizes)
        log = self.page("log", 0xC9, 4 * self.strings_dwords)
        log[0], log[16:32] = 1, guid("B13A83691A8F408B9EA495940057AA44")
        log[32:40] = le(self.strings_dwords, 8)
        for place in range(4):
            log[64 + 16 * place : 80 + 16 * place] = le(starts[place], 8) + le(sizes[place], 8)
        log[128:144] = b"FIFO ONE".ljust(16, b"\0")
        log[432:] = statistics + events + vendor + table

    def _statistics(self, log: bytes) -> bytes:
        found = struct.pack("<HBBHH", 0x01, 1, 0, 1, 0) + le(3, 4)
        found += struct.pack("<HBBHH", 0x02, 1, 0, 1, 0) + le(60, 4)
        found += struct.pack("<HBBHH", 0x03, 1, 0, 1, 0) + le(40, 4)
        found += struct.pack("<HBBHH", 0x1B, 4, 0, 2, 0) + le(7, 8)
        for number in range(FIRST_HEALTH, LAST_HEALTH + 1):
            dwords = DWORDS.get(number, 1)
            if number in {0x45, 0x46}:
                found += struct.pack("<HBBHH", number, 4, 0, 4 if number == 0x46 else 1, 0)
                found += bytes(16 if number == 0x46 else 4)
                continue
            found += struct.pack("<HBBHH", number, 0x14, 0, dwords, 0) + self.draw.randbytes(4 * dwords)
        inner = struct.pack("<HBBHH", 0x04, 1, 0x81, 1, 0) + le(1, 4)
        found += (
            struct.pack("<HBBHH", 0x6D, 0x41, 0, 2 + len(inner) // 4, 0)
            + struct.pack("<HHI", 2, 0, 1)
            + inner
        )
        return found + struct.pack("<HBBHH", 0x8001, 1, 0, 1, 0) + le(9, 4)

    @staticmethod
    def _events() -> bytes:
        events = struct.pack("<BHBQ", 1, 0, 2, 1234567)
        events += struct.pack("<BHB4s", 2, 7, 1, bytes((1, 4, 3, 0)))
        events += struct.pack("<BHB8s", 3, 0, 2, bytes(8))
        events += struct.pack("<BHB", 4, 2, 0) + struct.pack("<BHB", 5, 0, 0) + struct.pack("<BHB", 7, 1, 0)
        events += struct.pack("<BHB12s", 9, 0, 3, bytes(12))
        events += struct.pack("<B3xHBBHH4s", 0x0A, 1, 0, 0, 1, 0, le(3, 4))
        events += struct.pack("<BHBHH", 0x0B, 0, 1, 1 << 11 | 3, 0)
        events += struct.pack("<BHBHH", 0x0C, 3, 1, 1, 0)
        events += struct.pack("<BHBHBBI", 0x0D, 0, 2, 1, 4, 0, 0)
        return events + struct.pack("<BHB4s", 0x81, 9, 1, b"vndr")

    def _telemetry(self) -> None:
        health, extended = self._smart(), self.pages["log", 0xC0]
        statistics, events = self._statistics(health), self._events()
        log = self.page("log", 7, 512 * 0x43)
        log[0], log[8:14], log[380] = 7, le(0x40, 2) + le(0x42, 2) + le(0x42, 2), 2
        area = memoryview(log)[512:]
        area[0:4] = le(3, 2) + le(1, 2)
        area[8:16], area[16:32] = le(self.count(40) + 1, 8), guid("BA560A9C3043424CBC73719D87E64EFA")
        area[32], area[40:48], area[56:64] = 1, le(self.strings_dwords, 8), FIRMWARE
        self.statistics_at, self.events_at = 1536, 1536 + len(statistics) + 64
        area[96:112] = le(self.statistics_at // 4, 8) + le(len(statistics) // 4 + 4, 8)
        area[self.statistics_at : self.statistics_at + len(statistics)] = statistics
        area[160], area[161] = 1, 2
        area[176:192] = le(self.events_at // 4, 8) + le(len(events) // 4 + 8, 8)
        area[192:208] = le(0, 8) + le(16, 8)
        area[self.events_at : self.events_at + len(events)] = events
        area[512:1024], area[1024:1536] = health, extended
        area[0x40 * 512 : 0x40 * 512 + 4] = struct.pack("<BHB", 4, 1, 0)
        own = self.pages["log", 8]
        own[0], own[8:14], own[381] = 8, le(0x40, 2) * 3, 2

    def _smart(self) -> bytes:
        page = bytearray(512)
        for key, at, data in self.patches:
            if key == ("log", 2):
                page[at : at + len(data)] = data
        return bytes(page)

    def _features(self) -> None:
        defaults = {0xC2: 1, 0xC6: 15, 0xC7: self.watts[0], 0xC9: 1, 0xCA: 5, 0xCB: 0x22}
        for number in FEATURES:
            for select in range(3):
                size = 4 + 4096 if number == 0xC0 else 4
                self.page("feature", number | select << 8, size)[0:4] = le(defaults.get(number, 0), 4)
            self.page("feature", number | 3 << 8, 4)[0] = 5 if number in SAVED else 4
        self.page("feature", 0xC2, 4)[0] = self.draw.randint(1, 3)
        for number in (0x24, 0x25):
            self.page("feature", number, 4)
        self.page("feature", 0x0E, 12)[4:12] = le(self.count(40), 6) + b"\2\0"
        self.page("feature", 0x0E | 3 << 8, 4)[0] = 4
        self.page("feature", 0x02 | 3 << 8, 4)[0] = 5

    @staticmethod
    def _level_0() -> bytes:
        def descriptor(code: int, data: bytes) -> bytes:
            return struct.pack(">HBB", code, 0x10, len(data)) + data

        found = (
            descriptor(0x0001, b"\x51" + bytes(11))
            + descriptor(0x0002, b"\x09" + bytes(11))
            + descriptor(0x0201, struct.pack(">I", 129) + bytes(8))
            + descriptor(0x0202, struct.pack(">HHII", 0, 9, 11 << 20, 1))
            + descriptor(0x0203, struct.pack(">HHBHHBB", 0x1000, 2, 0, 4, 129, 0, 0) + bytes(5))
            + descriptor(0x0403, bytes(12))
            + descriptor(0x0404, bytes(32))
        )
        return (struct.pack(">II", 44 + len(found), 1) + bytes(40) + found).ljust(2048, b"\0")

    def _registers(self) -> None:
        value = 1023 | 1 << 16 | 1 << 17 | 20 << 24 | 1 << 36 | 1 << 37 | 3 << 46 | 1 << 52 | 1 << 59
        self.page("property", 0x00, 8)[:] = le(value, 8)
        self.page("property", 0x50, 8)
        self.patch("log", 0x81, 8, le(60, 4) * 6)
        self.page("command", 0x82, 2048)[:] = self._level_0()
        self.page("property", 0x68, 8)[:] = le(40, 8)
