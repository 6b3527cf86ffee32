//! The interface to the host: a stage for each direction, or one for both.

use super::Stage;
use crate::preset;
use crate::time::{Ps, ps_of_us, ps_per_byte_fixed, transfer_ps};

/// A crossing of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The first page is across: what follows need not wait for the rest.
    pub first_page_ps: Ps,
    /// All is across.
    pub end_ps: Ps,
}

/// What the wires are taken by.
#[derive(Clone, Debug)]
pub struct Link {
    to_host: Stage,
    from_host: Stage,
    half_duplex: bool,
    command_ps: Ps,
    read_pace: u64,
    write_pace: u64,
}

impl Link {
    /// Free wires.
    #[must_use]
    pub fn new(link: &preset::Link) -> Self {
        Self {
            to_host: Stage::default(),
            from_host: Stage::default(),
            half_duplex: link.half_duplex,
            command_ps: ps_of_us(link.command_us),
            read_pace: ps_per_byte_fixed(link.read_bytes_per_s),
            write_pace: ps_per_byte_fixed(link.write_bytes_per_s),
        }
    }

    /// Data to the host.
    #[inline]
    pub fn book_read(&mut self, arrival_ps: Ps, bytes: u32) -> Crossing {
        let (command_ps, pace) = (self.command_ps, self.read_pace);
        cross(&mut self.to_host, arrival_ps, command_ps, bytes, pace)
    }

    /// Data from the host.
    #[inline]
    pub fn book_write(&mut self, arrival_ps: Ps, bytes: u32) -> Crossing {
        let (command_ps, pace) = (self.command_ps, self.write_pace);
        let stage = if self.half_duplex { &mut self.to_host } else { &mut self.from_host };
        cross(stage, arrival_ps, command_ps, bytes, pace)
    }
}

#[inline]
fn cross(stage: &mut Stage, arrival_ps: Ps, command_ps: Ps, bytes: u32, pace: u64) -> Crossing {
    let bytes = u64::from(bytes);
    let whole_ps = transfer_ps(bytes, pace);
    let end_ps = stage.book(arrival_ps, command_ps + whole_ps);
    Crossing { first_page_ps: end_ps - whole_ps + transfer_ps(bytes.min(4096), pace), end_ps }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(half_duplex: bool) -> Link {
        Link::new(&preset::Link {
            read_bytes_per_s: 1e9,
            write_bytes_per_s: 2e9,
            command_us: 1.0,
            half_duplex,
        })
    }

    #[test]
    fn the_first_page_is_across_before_the_rest() {
        let crossing = link(false).book_read(5_000_000, 131_072);
        assert_eq!(crossing.first_page_ps, 5_000_000 + 1_000_000 + 4_096_000);
        assert_eq!(crossing.end_ps, 5_000_000 + 1_000_000 + 131_072_000);
        let crossing = link(false).book_write(0, 512);
        assert_eq!((crossing.first_page_ps, crossing.end_ps), (1_256_000, 1_256_000));
    }

    #[test]
    fn directions_share_the_wire_only_if_half_duplex() {
        for (half_duplex, end_ps) in [(false, 3_048_000), (true, 5_096_000 + 3_048_000)] {
            let mut link = link(half_duplex);
            assert_eq!(link.book_read(0, 4096).end_ps, 5_096_000);
            assert_eq!(link.book_write(0, 4096).end_ps, end_ps);
        }
    }
}
