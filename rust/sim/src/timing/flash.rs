//! All dies and the channels to them, with the times of their cells.

use super::Stage;
use super::die::{CellWork, Die, Manners};
use crate::ftl::Cells;
use crate::preset;
use crate::time::{Ps, ps_of_us};

/// What dies were asked for, since the drive was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashWork {
    /// Programs of one program unit.
    pub programs: u64,
    /// Array reads.
    pub reads: u64,
    /// Erases of one die's block.
    pub erases: u64,
}

/// Times of one use of cells.
#[derive(Clone, Copy, Debug)]
struct Times {
    read_ps: Ps,
    program: CellWork,
}

/// The flash.
#[derive(Clone, Debug)]
pub struct Flash {
    dies: Box<[Die]>,
    channels: Box<[Stage]>,
    /// The channel of each die.
    channel_of: Box<[u16]>,
    times: [Times; 2],
    erase: CellWork,
    manners: Manners,
    transfer_ps: Ps,
    /// What a further page of a chunk costs the die: most of its transfer.
    further_page_ps: Ps,
    work: FlashWork,
}

impl Flash {
    /// Idle flash.
    #[must_use]
    pub fn new(dies: u32, channels: u32, nand: &preset::Nand, slc: Option<&preset::SlcCache>) -> Self {
        let suspensions = nand.suspends_per_program;
        let cells = |read_us, program_us| Times {
            read_ps: ps_of_us(read_us),
            program: CellWork::new(program_us, suspensions),
        };
        let native = cells(nand.read_us, nand.program_us);
        let transfer_ps = ps_of_us(nand.transfer_us);
        #[expect(clippy::cast_possible_truncation, reason = "presets have at most 65 536 channels")]
        let channel_of = (0..dies).map(|die| (die % channels) as u16).collect();
        Self {
            dies: vec![Die::new(); dies as usize].into_boxed_slice(),
            channels: vec![Stage::default(); channels as usize].into_boxed_slice(),
            channel_of,
            times: [native, slc.map_or(native, |slc| cells(slc.read_us, slc.program_us))],
            erase: CellWork::new(nand.erase_us, suspensions),
            manners: Manners {
                suspend_ps: ps_of_us(nand.suspend_us),
                patience_ps: ps_of_us(nand.starvation_us),
            },
            transfer_ps,
            further_page_ps: transfer_ps * 4 / 5,
            work: FlashWork::default(),
        }
    }

    /// Read pages of one chunk for the host, which has to wait `retries_ps` longer for their correction;
    /// gives the moment at which they have left the channel.
    #[inline]
    pub fn read(&mut self, die: usize, cells: Cells, arrival_ps: Ps, pages: u64, retries_ps: Ps) -> Ps {
        let transfer_ps = pages * self.transfer_ps;
        let channel = &mut self.channels[usize::from(self.channel_of[die])];
        let asked_ps = channel.book(arrival_ps, transfer_ps) - transfer_ps;
        let read_ps = self.times[cells as usize].read_ps + retries_ps;
        let die = &mut self.dies[die];
        let read_ps = die.read(asked_ps, read_ps, self.manners);
        die.extend_read((pages - 1) * self.further_page_ps);
        self.work.reads += 1;
        read_ps + transfer_ps
    }

    /// Read chunks on one die in order to move or complete pages: reads of the host go before.
    #[inline]
    pub fn read_aside(&mut self, die: usize, cells: Cells, arrival_ps: Ps, chunks: u64) {
        self.dies[die].add(arrival_ps, chunks * self.times[cells as usize].read_ps);
        self.work.reads += chunks;
    }

    /// Program a unit; gives the moment at which it is done.
    #[inline]
    pub fn program(&mut self, die: usize, cells: Cells, arrival_ps: Ps) -> Ps {
        self.work.programs += 1;
        self.dies[die].work(arrival_ps, self.times[cells as usize].program)
    }

    /// Erase a block on every die.
    #[cold]
    pub fn erase_all(&mut self, arrival_ps: Ps) {
        for die in &mut self.dies {
            die.work(arrival_ps, self.erase);
        }
        self.work.erases += self.dies.len() as u64;
    }

    /// Forget what waits, and erase so many blocks on every die, all dies together; gives the moment at
    /// which that is done.
    pub fn erase_only(&mut self, arrival_ps: Ps, blocks: u64) -> Ps {
        let done_ps = arrival_ps + blocks * self.erase.length_ps;
        self.dies.fill(Die::taken_until(done_ps));
        self.work.erases += blocks * self.dies.len() as u64;
        done_ps
    }

    /// When a die is done with what it has, if no read comes.
    #[must_use]
    pub fn done_ps(&self, die: usize, now_ps: Ps) -> Ps {
        self.dies[die].done_ps(now_ps)
    }

    /// When all dies are done with what they have, if no read comes.
    #[must_use]
    pub fn all_done_ps(&self, now_ps: Ps) -> Ps {
        self.dies.iter().map(|die| die.done_ps(now_ps)).max().unwrap_or(now_ps)
    }

    /// What was asked for so far.
    #[must_use]
    pub const fn work(&self) -> FlashWork {
        self.work
    }

    /// How long a program of native cells takes.
    #[must_use]
    pub const fn program_ps(&self) -> Ps {
        self.times[Cells::Native as usize].program.length_ps
    }
}
