//! What the host has asked of a drive.

use openpts_core::workload::{Io, Operation};

use super::smart::Smart;
use super::time::{PS_PER_S, Ps};

/// Counts commands and bytes, and the time in which at least one command was on its way.
#[derive(Clone, Debug, Default)]
pub struct HostCounters {
    /// Read commands.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write commands.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    busy_ps: Ps,
    busy_until_ps: Ps,
}

impl HostCounters {
    /// A command was done without an error.
    #[inline]
    pub const fn count(&mut self, io: &Io) {
        match io.operation {
            Operation::Read => {
                self.reads += 1;
                self.read_bytes += io.length_bytes as u64;
            }
            Operation::Write => {
                self.writes += 1;
                self.write_bytes += io.length_bytes as u64;
            }
            Operation::Trim | Operation::Flush | Operation::Fsync => {}
        }
    }

    /// A command that was submitted at one moment is answered at another. Submissions never go back in time.
    #[inline]
    pub fn occupy(&mut self, from_ps: Ps, to_ps: Ps) {
        if to_ps > self.busy_until_ps {
            self.busy_ps += to_ps - from_ps.max(self.busy_until_ps);
            self.busy_until_ps = to_ps;
        }
    }

    /// When the last command so far is answered.
    #[inline]
    #[must_use]
    pub const fn busy_until_ps(&self) -> Ps {
        self.busy_until_ps
    }

    /// Fill in the host's part of the log.
    pub const fn report(&self, smart: &mut Smart) {
        smart.host_reads = self.reads;
        smart.host_read_bytes = self.read_bytes;
        smart.host_writes = self.writes;
        smart.host_write_bytes = self.write_bytes;
        smart.busy_s = self.busy_ps as f64 / PS_PER_S as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_commands_keep_the_controller_busy_once() {
        let mut counters = HostCounters::default();
        for (from_ps, to_ps) in [(100, 300), (150, 200), (250, 500), (500, 600), (1000, 1001)] {
            counters.occupy(from_ps, to_ps);
        }
        let mut smart = Smart::default();
        counters.report(&mut smart);
        assert_eq!(smart.busy_s, 501e-12);
        assert_eq!(counters.busy_until_ps(), 1001);
    }

    #[test]
    fn data_units_are_the_host_bytes_rounded_up() {
        let mut counters = HostCounters::default();
        let mut smart = Smart::default();
        let io = |operation, length_bytes| Io::new(operation, 0, length_bytes);
        for k in 1..=1000_u64 {
            counters.count(&io(Operation::Write, 4096));
            counters.count(&io(Operation::Read, 1536));
            counters.count(&io(Operation::Trim, 1 << 20));
            counters.report(&mut smart);
            assert_eq!((smart.host_writes, smart.host_reads), (k, k));
            assert_eq!(smart.data_units_written(), (k * 4096).div_ceil(512_000));
            assert_eq!(smart.data_units_read(), (k * 1536).div_ceil(512_000));
        }
    }
}
