//! The letters by which the Linux kernel and blkparse print what an I/O is: `WS`, `FWFS`, `RA`, `FF`.

use crate::traced_io::{Flags, TracedOperation};

/// Operation and flags of some letters: `[F]`, one operation, `[F][A][S][M]`.
///
/// The first `F` is a flush before the I/O, one behind the operation is write-through (FUA). `FF`, `FN` and `F`
/// alone are flushes.
pub(crate) fn operation(letters: &[u8]) -> Option<(TracedOperation, Flags)> {
    let (mut flags, rest) = match letters {
        [b'F', rest @ ..] if matches!(rest, [b'R' | b'W' | b'D' | b'N' | b'F' | b'Z', ..]) => {
            (Flags::PREFLUSH, rest)
        }
        _ => (Flags::NONE, letters),
    };
    let (operation, rest) = match rest {
        [b'W', b'Z', rest @ ..] => (TracedOperation::WriteZeroes, rest),
        [b'W', rest @ ..] => (TracedOperation::Write, rest),
        [b'R', rest @ ..] => (TracedOperation::Read, rest),
        [b'D', b'E', rest @ ..] | [b'D', rest @ ..] => (TracedOperation::Trim, rest),
        [b'F', rest @ ..] => (TracedOperation::Flush, rest),
        [b'N', rest @ ..] if flags.has(Flags::PREFLUSH) => (TracedOperation::Flush, rest),
        [b'N', rest @ ..] => (TracedOperation::Other, rest),
        [b'Z', b'A', rest @ ..] => (TracedOperation::ZoneAppend, rest),
        [b'Z', b'R', rest @ ..] => (TracedOperation::ZoneReset, rest),
        [b'Z', b'O' | b'C' | b'F', rest @ ..] => (TracedOperation::Other, rest),
        _ => return None,
    };
    for letter in rest {
        flags = flags.with(match letter {
            b'F' => Flags::FUA,
            b'A' => Flags::READ_AHEAD,
            b'S' => Flags::SYNC,
            b'M' => Flags::META,
            // A barrier of kernels before 2.6.37; an atomic write.
            b'B' | b'U' => Flags::NONE,
            _ => return None,
        });
    }
    if operation == TracedOperation::Flush {
        flags = Flags(flags.0 & !Flags::PREFLUSH.0);
    }
    Some((operation, flags))
}
