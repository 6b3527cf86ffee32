//! What the engine itself costs: the same threads and the same accounting without a device.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::completion_wait::CompletionWait;
use super::configuration::Configuration;
use super::error::EngineError;
use super::result::{Report, StepResult};
use super::session::Session;
use crate::machine::{IoPath, TIMER_DELAY, Target};
use crate::workload::{Limits, Operation, OperationWeights, Step, Stimulus, Stop};

const BLOCK_BYTES: u32 = 4096;
const QD: u32 = 128;
const STEP_NS: u64 = 20_000_000;
/// The same again and again, of which the middle one counts: a short disturbance is in few of them.
const SLEEPING_STEPS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(2);

/// The engine's own share of every figure.
#[derive(Clone, Copy, Debug)]
pub struct Overhead {
    /// Latency of a request that does nothing, at QD 1: the part of each latency that is not the device's, if
    /// the answer is there before the thread has fallen asleep.
    pub mean_latency_ns: f64,
    /// The same of a request that a timer's interrupt answers while the thread sleeps, at QD 1, less the
    /// timer's time: what interrupt, wake-up and engine add to each latency.
    pub sleeping_latency_ns: f64,
    /// Processor time of one I/O at QD 128, the kernel's part of a request that does nothing included.
    pub cpu_ns_per_io: f64,
}

impl Overhead {
    /// Measure it with a thread on the first of `cpus`, or wherever the scheduler puts it; takes some 200 ms.
    ///
    /// # Errors
    /// If there is no io_uring, or the session does not answer.
    pub fn measure(cpus: &[usize]) -> Result<Self, EngineError> {
        let at_once = mean_latencies_ns(&run(IoPath::NoOp, 1, 1, cpus)?);
        let mut asleep = mean_latencies_ns(&run(IoPath::Timer, 1, SLEEPING_STEPS, cpus)?);
        asleep.sort_by(f64::total_cmp);
        let busy = run(IoPath::NoOp, QD, 1, cpus)?.remove(0);
        let ios = busy.operations.of(Operation::Read).ios.max(1);
        #[expect(clippy::cast_precision_loss, reason = "the I/Os of 20 ms")]
        let cpu_ns_per_io = busy.elapsed_ns as f64 / ios as f64;
        Ok(Self {
            mean_latency_ns: at_once[0],
            sleeping_latency_ns: asleep[SLEEPING_STEPS / 2] - TIMER_DELAY.as_nanos() as f64,
            cpu_ns_per_io,
        })
    }
}

fn mean_latencies_ns(steps: &[StepResult]) -> Vec<f64> {
    let reads = steps.iter().map(|step| step.operations.of(Operation::Read));
    #[expect(clippy::cast_precision_loss, reason = "sums of 20 ms")]
    reads.map(|reads| reads.latency_sum_ns as f64 / reads.ios.max(1) as f64).collect()
}

/// So many steps of one thread. One that never waits is busy all the time: what elapses is processor time, as
/// long as it has a processor for itself.
fn run(path: IoPath, qd: u32, steps: usize, cpus: &[usize]) -> Result<Vec<StepResult>, EngineError> {
    let (reader, _writer) = io::pipe().map_err(EngineError::Thread)?;
    let target = Target::duplicate(reader.as_raw_fd()).map_err(EngineError::Thread)?;
    let capacity_bytes = 1 << 40;
    let session = Session::open(
        target,
        Configuration {
            limits: Limits { capacity_bytes, sector_bytes: 512, tc: 1, qd, block_size_bytes: BLOCK_BYTES },
            seed: 1,
            interval_ns: 1_000_000_000,
            interval_histograms: false,
            path,
            completion_wait: CompletionWait::Each,
            slow_io_ns: None,
            cpus: cpus.to_vec(),
            most_errors: 0,
            over_read_errors: false,
            capture: None,
            resumed: None,
        },
    )?;
    session.submit(vec![step(qd, capacity_bytes); steps])?;
    let mut results = Vec::new();
    while results.len() < steps {
        match session.poll(PATIENCE)? {
            Some(Report::Step(step)) => results.push(step),
            Some(Report::Interval(_)) => (),
            None => return Err(EngineError::Stopped),
        }
    }
    Ok(results)
}

fn step(qd: u32, capacity_bytes: u64) -> Step {
    let reads = Stimulus::random(OperationWeights::reads_pct(100), BLOCK_BYTES, 0..capacity_bytes);
    let stop = Stop { duration_ns: Some(STEP_NS), ..Stop::default() };
    Step { ramp_ns: STEP_NS / 4, ..Step::new(Some(Stimulus { qd, ..reads }), stop) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_does_nothing_costs_something_and_not_much() {
        let overhead = Overhead::measure(&[]).unwrap();
        assert!(overhead.mean_latency_ns > 0.0 && overhead.mean_latency_ns < 1e6, "{overhead:?}");
        assert!(overhead.cpu_ns_per_io > 1.0 && overhead.cpu_ns_per_io < 1e5, "{overhead:?}");
    }

    #[test]
    fn a_sleeping_thread_sees_an_answer_later_than_one_that_is_awake() {
        // where others have the processor, the one that is awake may happen to wait longer
        assert!((0..5).any(|_| {
            let overhead = Overhead::measure(&[0]).unwrap();
            (overhead.mean_latency_ns..1e8).contains(&overhead.sleeping_latency_ns)
        }));
    }
}
