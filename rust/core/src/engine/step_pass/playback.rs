//! A schedule's I/Os in place of generated ones.

use super::StepPass;
use crate::engine::pace::Turn;
use crate::machine::Queue;
use crate::workload::{Bounds, Cue, Io, Operation, Player, Replay, ScheduleError};

/// How soon a thread looks again for a schedule that was not read in time.
const READER_NS: u64 = 100_000;

pub(super) struct Playback {
    pub(super) player: Player,
    cue: Cue,
    /// A slot whose buffer has the data of the next write already: they are made while there is time.
    staged: Option<usize>,
}

impl Playback {
    pub(super) fn open(replay: &Replay, stream: usize, bounds: Bounds) -> Result<Box<Self>, ScheduleError> {
        let player = Player::open(replay, stream, bounds.ios.unwrap_or(u64::MAX), false)?;
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

impl<Q: Queue> StepPass<'_, Q> {
    /// Fill free slots with the I/Os that may be issued now, up to a batch.
    pub(super) fn play(&mut self, now_ns: u64, since_start_ns: u64) {
        let Some(mut playback) = self.playback.take() else { return };
        let mut batch_bytes = 0;
        loop {
            playback.cue = playback.player.cue(since_start_ns);
            match playback.cue {
                Cue::Issue(_) if !self.has_room(batch_bytes) => break,
                Cue::Issue(io) => {
                    let staged = playback.staged.take();
                    let Some(slot) = staged.or_else(|| self.context.slots.reserve()) else {
                        playback.player.no_room(since_start_ns);
                        break;
                    };
                    if staged.is_none() {
                        self.fill(slot, &io);
                    }
                    self.context.queue.push(slot, &io);
                    self.context.slots.take_reserved(slot, &io, None);
                    playback.player.issued(slot);
                    self.batched += 1;
                    batch_bytes += bytes_filled(&io);
                }
                Cue::At(_, io) => {
                    // What is due already goes first.
                    if self.batched == 0 && playback.staged.is_none() {
                        playback.staged = self.context.slots.reserve();
                        if let Some(slot) = playback.staged {
                            self.fill(slot, &io);
                        }
                    }
                    break;
                }
                Cue::Answer | Cue::Reader | Cue::End => break,
            }
        }
        if let Some(reason) = playback.player.broken() {
            self.fail(now_ns, reason.to_owned());
        }
        self.playback = Some(playback);
    }

    /// The I/Os that were submitted last kept the thread until now.
    pub(super) fn submission_ended(&mut self) {
        let since_start_ns = self.context.clock.now_ns().saturating_sub(self.origin_ns);
        if let Some(playback) = &mut self.playback {
            playback.player.submission_ended(since_start_ns);
        }
    }
}

/// Bytes whose making delays the submission.
fn bytes_filled(io: &Io) -> u32 {
    if io.operation == Operation::Write { io.length_bytes } else { 0 }
}
