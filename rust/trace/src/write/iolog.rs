//! fio's iolog, version 3.

use std::io::{self, BufWriter, Write};

use super::super::traced_io::{Flags, TracedIo, TracedOperation};
use super::writer::{Names, TraceWriter, Written};

/// Longest name of a file that fio reads.
const NAME_CHARACTERS: usize = 255;

pub(super) struct IologWriter<W: Write> {
    file: BufWriter<W>,
    /// Names as fio reads them, of devices that were added.
    names: Vec<Option<String>>,
    has_header: bool,
    now_us: i64,
}

impl<W: Write> IologWriter<W> {
    pub(super) fn new(file: W) -> Self {
        Self {
            file: BufWriter::with_capacity(1 << 18, file),
            names: Vec::new(),
            has_header: false,
            now_us: 0,
        }
    }

    /// Add and open a device when it is first needed.
    fn add(&mut self, device: usize, name: &str, written: &mut Written) -> io::Result<()> {
        if self.names.len() <= device {
            self.names.resize(device + 1, None);
        }
        if self.names[device].is_none() {
            let mut plain: String =
                name.chars().map(|c| if c.is_whitespace() { '_' } else { c }).take(NAME_CHARACTERS).collect();
            if self.names.iter().flatten().any(|other| *other == plain) {
                plain = format!("{plain:.200}_{device}");
            }
            if plain != name {
                written.lose("names of devices with blanks, or over 255 characters");
            }
            writeln!(self.file, "{0} {plain} add\n{0} {plain} open", self.now_us)?;
            self.names[device] = Some(plain);
        }
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        if !self.has_header {
            self.has_header = true;
            writeln!(self.file, "fio version 3 iolog")?;
        }
        Ok(())
    }
}

impl<W: Write> TraceWriter for IologWriter<W> {
    fn write(&mut self, io: &TracedIo, names: &Names, written: &mut Written) -> io::Result<()> {
        let action = match io.operation {
            TracedOperation::Read => "read",
            TracedOperation::Write => "write",
            TracedOperation::Trim => "trim",
            TracedOperation::Flush => "sync",
            _ => {
                written.lose("I/Os that are neither reads, writes, trims nor flushes");
                return Ok(());
            }
        };
        self.begin()?;
        // Truncated, and not rounded: the order stays.
        self.now_us = io.issued_ns.div_euclid(1000);
        self.add(usize::from(io.device), &names.device(io.device), written)?;
        written.lose_common(io, Flags::NONE);
        written.lose_issuer(io);
        written.lose_status(io);
        if io.issued_ns % 1000 != 0 {
            written.lose("times below 1 us");
        }
        if io.completed_ns.is_some() {
            written.lose("completions");
        }
        if io.length_bytes > u64::from(u32::MAX) {
            written.lose("lengths of 4 GiB or more, which fio reads short");
        }
        written.ios += 1;
        let name = self.names[usize::from(io.device)].as_deref().unwrap_or_default();
        writeln!(self.file, "{} {name} {action} {} {}", self.now_us, io.offset_bytes, io.length_bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.begin()?;
        for name in self.names.iter().flatten() {
            writeln!(self.file, "{} {name} close", self.now_us)?;
        }
        self.file.flush()
    }
}
