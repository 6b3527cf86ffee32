//! An open engine on one simulated drive: a thread that waits for programs.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use openpts_core::capture::{self, Capture, CaptureConfiguration, CaptureSummary, Tap};
use openpts_core::engine::{CaptureOrder, EngineError, NO_CAPTURE, Progress, Report, Reports};
use openpts_core::machine::TooMuch;
use openpts_core::workload::{Carried, Data, Limits, Program, Step, StimulusError, check_program};

use super::context::{Context, VirtualProgress};
use super::halt::Halt;
use super::intervals::Wishes;
use super::queue::Queue;
use super::runner::Runner;
use super::scaled_program::{Down, ScaledStep};
use super::shared_drive::SharedDrive;
use crate::scale::Scale;
use crate::time::{PS_PER_S, Ps};

/// Of the 213 days that a clock of 64 bits has: a hundred.
const LONGEST_STEP_PS: Ps = 100 * 86_400 * PS_PER_S;

/// I/Os outstanding at most: each takes some 100 B while a step runs, and each of its events a comparison on
/// each of 20 levels.
const MOST_OUTSTANDING: u64 = 1 << 20;

/// What a session on a simulated drive is made for. Quantities are nominal.
#[derive(Clone, Debug)]
pub struct VirtualConfiguration {
    /// Threads of the largest stimulus.
    pub tc: u32,
    /// I/Os that each of them may have outstanding.
    pub qd: u32,
    /// Its largest transfer.
    pub block_size_bytes: u32,
    /// Seed of offsets and mix.
    pub seed: u64,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Whether each interval gets histograms of its own.
    pub interval_histograms: bool,
    /// I/Os that may fail before the session does.
    pub most_errors: u64,
    /// Whether reads that fail are counted without end.
    pub over_read_errors: bool,
    /// Where every single simulated I/O is written, if anywhere.
    pub capture: Option<CaptureOrder>,
}

/// Runs programs on a simulated drive as [`engine::Session`](openpts_core::engine::Session) does on a real one, as
/// fast as it can be calculated. Between programs no virtual time passes.
pub struct VirtualSession {
    limits: Limits,
    down: Down,
    wishes: Wishes,
    halt: Arc<Halt>,
    queue: Arc<Queue>,
    progress: Arc<VirtualProgress>,
    reports: Reports,
    capture: Mutex<Option<Capture>>,
    captures: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl VirtualSession {
    /// Start the thread.
    ///
    /// # Errors
    /// If it or the capture can't be begun, or more is to be outstanding than it keeps.
    pub fn open(drive: Arc<SharedDrive>, configuration: &VirtualConfiguration) -> Result<Self, EngineError> {
        let VirtualConfiguration { tc, qd, block_size_bytes, seed, .. } = *configuration;
        if u64::from(tc) * u64::from(qd) > MOST_OUTSTANDING {
            return Err(EngineError::TooMuch(TooMuch(format!(
                "TC {tc} x QD {qd} are more than the {MOST_OUTSTANDING} I/Os that a simulated host keeps \
                 outstanding: lower TC or QD"
            ))));
        }
        let (capacity_bytes, sector_bytes) = (drive.capacity_bytes(), drive.sector_bytes());
        let limits = Limits { capacity_bytes, sector_bytes, tc, qd, block_size_bytes };
        let scale = drive.scale();
        let wishes = Wishes {
            interval_ns: configuration.interval_ns,
            interval_histograms: configuration.interval_histograms,
            scale,
        };
        let halt = Arc::new(Halt::new(configuration.most_errors, configuration.over_read_errors, scale));
        let queue = Arc::new(Queue::new(Arc::clone(&drive)));
        let progress = Arc::<VirtualProgress>::default();
        let (reports_out, reports) = mpsc::channel();
        let (capture, taps) = begin_capture(configuration, &limits, wishes)?;
        let runner = Runner {
            context: Context {
                drive,
                halt: Arc::clone(&halt),
                progress: Arc::clone(&progress),
                wishes,
                sector_bytes,
                skipped_ns: 0,
            },
            queue: Arc::clone(&queue),
            carried: (0..tc).map(|thread| Carried::new(seed, thread)).collect(),
            taps,
            reports: reports_out,
            begun: 0,
            last_answer_ns: None,
        };
        let thread = thread::Builder::new()
            .name("openpts-virtual".into())
            .spawn(move || runner.run())
            .map_err(EngineError::Thread)?;
        Ok(Self {
            limits,
            down: Down::new(&limits, scale),
            wishes,
            halt,
            queue,
            progress,
            reports: Reports::new(reports),
            capture: Mutex::new(capture),
            captures: configuration.capture.is_some(),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The limits that a program must keep.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Queue the steps behind those that wait already.
    ///
    /// # Errors
    /// If a step makes no sense here, or less than the scale leaves is needed; after a stop or a failure.
    pub fn submit(&self, program: &Program) -> Result<(), EngineError> {
        if self.halt.halted().is_some() {
            return Err(EngineError::Stopped);
        }
        if self.queue.submit(self.suited(program)?) { Ok(()) } else { Err(EngineError::Stopped) }
    }

    /// Look whether `submit` would take these steps, without queueing them.
    ///
    /// # Errors
    /// As those of `submit`, but for a stop.
    pub fn check(&self, program: &Program) -> Result<(), EngineError> {
        self.suited(program).map(drop)
    }

    /// The program as the small drive carries it out.
    fn suited(&self, program: &Program) -> Result<Vec<ScaledStep>, EngineError> {
        check_program(program, &self.limits)?;
        let suited = program.iter().zip(1..).map(|(step, position)| {
            self.suit(step).map_err(|reason| EngineError::Unsupported { step: position, reason })
        });
        suited.collect()
    }

    /// Fit a step to the drive, or say why that can't be.
    fn suit(&self, step: &Step) -> Result<ScaledStep, String> {
        if step.capture && !self.captures {
            return Err(NO_CAPTURE.into());
        }
        if let Some(rule) = step.stop.steady
            && !rule.window_ns.is_multiple_of(self.wishes.interval_ns)
        {
            return Err(format!(
                "a steady-state window of {} ns is not a multiple of the interval of {} ns",
                rule.window_ns, self.wishes.interval_ns
            ));
        }
        if step.streams.iter().any(|stream| matches!(stream.stimulus.data, Data::Verified { .. })) {
            return Err("data verified: a simulated drive keeps no data to verify".into());
        }
        if self.wishes.scale != Scale::ONE && step.streams.iter().any(|stream| stream.replay.is_some()) {
            return Err(
                "a trace is replayed on a simulated drive in its own size only: leave its scale at 1, or \
                        compact the trace onto a smaller drive"
                    .into(),
            );
        }
        let scaled = self.down.step(step);
        // A step with I/O may have any duration: it is stopped sooner.
        let idle_ps = scaled.duration_ps.filter(|_| step.is_idle()).unwrap_or(0);
        if scaled.ramp_ps.saturating_add(idle_ps) > LONGEST_STEP_PS {
            return Err("it lasts longer than the clock of a simulated drive goes".into());
        }
        check_program(std::slice::from_ref(&scaled.step), &self.down.limits(&self.limits)).map_err(
            |error| match error {
                StimulusError::Syntax(reason) | StimulusError::Value { reason, .. } => {
                    format!("with one simulated byte for {}: {reason}", self.wishes.scale.factor())
                }
            },
        )?;
        Ok(scaled)
    }

    /// Wait for the next finished interval or step, no longer than `timeout`; `None` if there is none.
    ///
    /// # Errors
    /// When the thread is gone and nothing more will come.
    pub fn poll(&self, timeout: Duration) -> Result<Option<Report>, EngineError> {
        self.reports.poll(timeout)
    }

    /// Where the session stands now.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.nominal(self.wishes.scale)
    }

    /// End the step that runs, drop those that wait, and take no more. The step's result still comes.
    pub fn stop(&self) {
        self.halt.stop();
        self.queue.close();
    }

    /// Stop, and complete the capture's file.
    ///
    /// # Errors
    /// If not every I/O could be written to it.
    pub fn finish(&self) -> Result<Option<CaptureSummary>, EngineError> {
        self.stop();
        self.join();
        let capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(capture.map(Capture::finish).transpose()?)
    }

    fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // One that panicked has said so already, and its reports have ended.
            let _ = thread.join();
        }
    }
}

fn begin_capture(
    configuration: &VirtualConfiguration,
    limits: &Limits,
    wishes: Wishes,
) -> Result<(Option<Capture>, Vec<Tap>), EngineError> {
    let Some(order) = &configuration.capture else { return Ok((None, Vec::new())) };
    let clock = match wishes.scale.factor() {
        1 => "virtual ns since the drive was made".to_owned(),
        factor => format!(
            "virtual ns since the drive was made, times {factor}; an I/O stands for {factor}, its LBA is \
             times {factor}"
        ),
    };
    let (capture, taps) = capture::open(
        order.files.clone(),
        CaptureConfiguration {
            lba_bytes: order.lba_bytes,
            clock,
            ..CaptureConfiguration::new(limits.sector_bytes, limits.tc)
        },
    )?;
    Ok((Some(capture), taps))
}

impl Drop for VirtualSession {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}
