//! CSV as of MSR Cambridge.

use std::io::{self, BufWriter, Write};

use super::super::traced_io::{Flags, TracedIo, TracedOperation};
use super::writer::{Names, TraceWriter, Written};

/// 1970 in Windows' file times, which count from 1601 in steps of 100 ns.
const EPOCH: i128 = 116_444_736_000_000_000;

pub(super) struct MsrWriter<W: Write> {
    file: BufWriter<W>,
}

impl<W: Write> MsrWriter<W> {
    pub(super) fn new(file: W) -> Self {
        Self { file: BufWriter::with_capacity(1 << 18, file) }
    }
}

impl<W: Write> TraceWriter for MsrWriter<W> {
    fn write(&mut self, io: &TracedIo, names: &Names, written: &mut Written) -> io::Result<()> {
        let kind = match io.operation {
            TracedOperation::Read => "Read",
            TracedOperation::Write => "Write",
            _ => {
                written.lose("I/Os that are neither reads nor writes");
                return Ok(());
            }
        };
        written.lose_common(io, Flags::NONE);
        written.lose_issuer(io);
        written.lose_status(io);
        let latency_ns = io.latency_ns();
        if io.issued_ns % 100 != 0 || latency_ns.is_some_and(|latency_ns| latency_ns % 100 != 0) {
            written.lose("times below 100 ns");
        }
        if latency_ns.is_none() {
            written.lose("that an I/O has no completion: its response time is 0");
        }
        let name = names.device(io.device);
        let (host, disk) = match name.rsplit_once('.') {
            Some((host, disk)) if !disk.is_empty() && disk.bytes().all(|byte| byte.is_ascii_digit()) => {
                (host, disk)
            }
            _ => (name.as_str(), "0"),
        };
        let host = host.replace(|c: char| c == ',' || c == '"' || c.is_control(), "_");
        let since_1970_ns = i128::from(names.origin_utc_ns.unwrap_or(0)) + i128::from(io.issued_ns);
        written.ios += 1;
        writeln!(
            self.file,
            "{},{host},{disk},{kind},{},{},{}",
            EPOCH + since_1970_ns.div_euclid(100),
            io.offset_bytes,
            io.length_bytes,
            latency_ns.unwrap_or(0) / 100
        )
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
