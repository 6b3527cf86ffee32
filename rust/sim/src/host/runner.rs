//! A session's thread: runs the steps that were submitted, one after the other.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use openpts_core::capture::Tap;
use openpts_core::engine::{Outcome, Report, StepResult, StepState, Tally};
use openpts_core::workload::Carried;

use super::context::Context;
use super::entropy::entropy_of_streams;
use super::queue::Queue;
use super::scaled_program::ScaledStep;
use super::scaled_results::scaled_step;
use super::shared_drive::TimedDrive;
use super::step_run::{Ran, StepRun};
use crate::time::{PS_PER_NS, Ps};

pub(super) struct Runner {
    pub(super) context: Context,
    pub(super) queue: Arc<Queue>,
    pub(super) carried: Vec<Carried>,
    pub(super) taps: Vec<Tap>,
    pub(super) reports: Sender<Report>,
    /// Steps that were begun.
    pub(super) begun: u64,
    /// `None` before the first step and after an idle gap: there is no gap to speak of.
    pub(super) last_answer_ns: Option<u64>,
}

/// Ends all waiting for a thread that is gone, however it went.
struct Alarm(Arc<Queue>);

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.end_all();
    }
}

impl Runner {
    /// Run programs until the queue is closed.
    pub(super) fn run(mut self) {
        let queue = Arc::clone(&self.queue);
        let _alarm = Alarm(Arc::clone(&queue));
        while queue.wait() {
            let drive = Arc::clone(&self.context.drive);
            let halt = Arc::clone(&self.context.halt);
            let Some(mut lent) = drive.lend(|| halt.halted().is_some()) else { return };
            while let Some((step, is_last)) = queue.next() {
                if self.run_step(&step, lent.timed()) != StepState::Complete {
                    // What follows a failure or a stop counts for nothing.
                    return;
                }
                if is_last {
                    queue.end_program();
                }
            }
        }
    }

    fn run_step(&mut self, step: &ScaledStep, timed: &mut TimedDrive) -> StepState {
        let (index, start_ps) = (self.begun, timed.now_ps);
        self.begun += 1;
        self.context.progress.begin_step(start_ps);
        let is_idle = step.step.is_idle();
        let spent = timed.drive.spent(start_ps);
        let Ran { outcome, whole, streams, ended_ps, drained_ps, lead_in_ps } =
            if is_idle { self.idle(step, timed) } else { self.load(index, step, timed) };
        timed.now_ps = ended_ps;
        self.context.progress.advance((0, 0), ended_ps);
        self.context.drive.tell(timed.drive.as_ref(), ended_ps);
        let before_ns = self.last_answer_ns;
        self.last_answer_ns = if is_idle { None } else { outcome.last_answer_ns.or(before_ns) };
        let state = outcome.state;
        let start_ns = self.context.nominal_ns(start_ps);
        let scale = self.context.wishes.scale;
        self.context.skipped_ns +=
            scale.nominal_ns(lead_in_ps) + scale.nominal_ns(drained_ps) - drained_ps / PS_PER_NS;
        let mut result = StepResult::new(index, &step.step, start_ns, &whole, outcome, before_ns, None);
        result.streams = streams;
        result.spent = timed.drive.spent(ended_ps).since(spent);
        for tap in &mut self.taps {
            // Nothing was slowed down by it: virtual time does not pass meanwhile.
            let _ = tap.end_of_step();
        }
        if state != StepState::Complete {
            // A caller that learns of it can't submit any more.
            self.queue.close();
        }
        // Without a session there is no receiver.
        let _ = self.reports.send(Report::Step(scaled_step(result, self.context.wishes.scale)));
        state
    }

    fn load(&mut self, index: u64, step: &ScaledStep, timed: &mut TimedDrive) -> Ran {
        let Self { context, carried, taps, reports, last_answer_ns, .. } = self;
        let taps = if step.step.capture { taps.as_mut_slice() } else { &mut [] };
        let mut report = |report| {
            let _ = reports.send(report);
        };
        let TimedDrive { drive, now_ps } = timed;
        drive.begin_step(entropy_of_streams(&step.step.streams), *now_ps);
        let follows_load = last_answer_ns.is_some();
        let run = StepRun::new(
            context,
            index,
            step,
            carried,
            taps,
            drive.as_mut(),
            *now_ps,
            follows_load,
            &mut report,
        );
        run.run()
    }

    /// Leave the drive alone until the step's time is over.
    fn idle(&self, step: &ScaledStep, timed: &mut TimedDrive) -> Ran {
        let state = self.context.halt.halted().unwrap_or_default();
        let (lasts_ps, lasts_ns) = match step.duration_ps.zip(step.duration_ns) {
            Some(lasts) if state == StepState::Complete => lasts,
            _ => (0, 0),
        };
        let ended_ps: Ps = timed.now_ps.saturating_add(lasts_ps);
        timed.drive.idle_until(ended_ps);
        let started_ns = self.context.nominal_ns(timed.now_ps);
        let outcome = Outcome::of_idle(state, started_ns, started_ns + lasts_ns);
        Ran {
            outcome,
            whole: Box::<Tally>::default(),
            streams: Vec::new(),
            ended_ps,
            drained_ps: 0,
            lead_in_ps: 0,
        }
    }
}
