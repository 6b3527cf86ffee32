//! A schedule's I/Os in place of generated ones.

use super::pace::Turn;
use crate::workload::{Cue, Io, Player, Replay, ScheduleError, Stream};

/// How soon a thread looks again for a schedule that was not read in time.
const READER_NS: u64 = 100_000;

pub(super) struct Playback {
    pub(super) player: Player,
    pub(super) cue: Cue,
    /// A slot whose buffer has the data of this write already: they are made while there is time.
    pub(super) staged: Option<(usize, Io)>,
}

impl Playback {
    pub(super) fn open(replay: &Replay, number: usize, stream: &Stream) -> Result<Box<Self>, ScheduleError> {
        let player = Player::open(replay, number, stream.bounds.ios.unwrap_or(u64::MAX), false)?
            .with_handle(stream.stimulus.placement_handle);
        Ok(Box::new(Self { player, cue: Cue::Reader, staged: None }))
    }

    /// What the thread may do next, as far as its pacing is concerned.
    pub(super) fn turn(&self, since_start_ns: u64) -> Turn {
        match self.cue {
            Cue::Issue(_) => Turn::Now,
            Cue::At(due_ns, _) => Turn::Wait(due_ns),
            Cue::Reader => Turn::Wait(since_start_ns.saturating_add(READER_NS)),
            Cue::Answer | Cue::End => Turn::Wait(u64::MAX),
        }
    }
}
