//! One thread: runs its part of every step, and hands over what it counted.

use std::sync::Arc;

use super::barrier::{ActiveStep, Barrier};
use super::context::Context;
use super::outcome::{Outcome, StepState};
use super::output::Output;
use super::step_pass::StepPass;
use crate::machine::Queue;
use crate::workload::{Carried, IoStream};

pub(super) struct Worker<Q> {
    pub(super) context: Context<Q>,
    pub(super) output: Output,
    pub(super) carried: Carried,
}

impl<Q: Queue> Worker<Q> {
    /// Run steps until the barrier closes.
    pub(super) fn run(mut self, barrier: &Barrier) {
        let mut index = 0;
        loop {
            if !barrier.has_waiting() {
                self.output.deliver_held_back();
            }
            let Some(step) = barrier.arrive(self.context.thread as usize, index) else { break };
            let mut outcome = self.take_part(&step);
            if !step.step.is_idle() {
                outcome.carried.push((self.context.thread, self.carried.clone()));
            }
            if outcome.state != StepState::Complete {
                // What follows a failure or a stop counts for nothing: let no other step begin.
                barrier.close();
            }
            if let Some(tap) = &mut self.context.tap {
                tap.end_of_step();
            }
            self.output.end_step(&step, outcome);
            index = step.index + 1;
        }
        self.output.deliver_held_back();
    }

    fn take_part(&mut self, step: &Arc<ActiveStep>) -> Outcome {
        let Self { context, output, carried } = self;
        match step.step.part_of(context.thread) {
            Some((number, thread)) => {
                let stream = &step.step.streams[number];
                let ios = IoStream::new(&step.step, stream, context.sector_bytes, thread, carried);
                StepPass::new(step, number, thread, context, output, ios).run()
            }
            None if step.step.is_idle() && context.thread == 0 => {
                output.begin(step.start_ns);
                output.deliver_held_back();
                context.idle(step)
            }
            _ => {
                output.begin(step.start_ns);
                Outcome::default()
            }
        }
    }
}
