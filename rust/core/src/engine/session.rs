//! An open engine on one target: warm threads that wait for programs.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::barrier::Barrier;
use super::collector::{Collector, Links, Wishes};
use super::configuration::{CaptureOrder, Configuration};
use super::cpu::CpuSnapshot;
use super::error::{EngineError, NO_CAPTURE};
use super::progress::Progress;
use super::reports::Reports;
use super::result::Report;
use super::shared::Shared;
use super::signals::Signals;
use super::slots::{Flights, Outstanding};
use super::threads::{Equipment, slots_of, start, threads_of};
use crate::capture::{self, Capture, CaptureConfiguration, CaptureSummary, Tap};
use crate::clock::{Clock, ClockSource};
use crate::machine::{Features, IoPath, Needs, Target};
use crate::workload::{Carried, Limits, Operation, Program, Step, check_program};

/// How long to wait for the threads at the end. One whose I/O hangs in the device cannot end before the
/// kernel lets go of it, and is left to that.
const JOIN_LIMIT: Duration = Duration::from_secs(1);

/// Threads with a queue each, warm from the first program to the last.
pub struct Session {
    limits: Limits,
    interval_ns: u64,
    path: IoPath,
    shared: Shared,
    reports: Reports,
    capture: Mutex<Option<Capture>>,
    captures: bool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    equipment: Equipment,
}

impl Session {
    /// Start the threads and their queues.
    ///
    /// # Errors
    /// If the kernel does not give us the path, or not so much as the limits want; nothing is left running.
    pub fn open(target: Target, configuration: Configuration) -> Result<Self, EngineError> {
        let Configuration { limits, path, interval_ns, interval_histograms, .. } = configuration;
        let (threads, slots) = (threads_of(&limits, path), slots_of(&limits, path));
        let block_bytes = u64::from(limits.block_size_bytes);
        Needs { path, threads: threads as u64, slots: slots as u64, block_bytes }.check()?;
        let streams = streams_of(&configuration, threads)?;
        let clock = Clock::default();
        let shared = Shared {
            clock,
            barrier: Arc::new(Barrier::new(threads, clock)),
            signals: Arc::new(
                Signals::new(configuration.most_errors, configuration.over_read_errors)
                    .map_err(EngineError::Thread)?,
            ),
            progress: (0..threads).map(|_| Arc::default()).collect(),
            flights: (0..threads).map(|_| Arc::new(Flights::new(slots))).collect(),
            beginnings: Arc::default(),
        };
        let (reports_out, reports) = mpsc::channel();
        let mut session = Self {
            limits,
            interval_ns,
            path,
            shared: shared.clone(),
            reports: Reports::new(reports),
            capture: Mutex::default(),
            captures: configuration.capture.is_some(),
            threads: Mutex::default(),
            equipment: Equipment::default(),
        };
        let taps = session.begin_capture(configuration.capture.as_ref())?;
        let completion = session.lock_capture().as_ref().map(Capture::completion);
        let (threads, equipment) = start(target, &configuration, &shared, &streams, taps, |spare, parts| {
            let wishes = Wishes { interval_ns, interval_histograms };
            let links = Links { parts, spare, reports: reports_out, completion };
            Collector::new(wishes, &shared, links, streams.clone())
        })?;
        session.threads = Mutex::new(threads);
        session.equipment = equipment;
        Ok(session)
    }

    fn begin_capture(&mut self, order: Option<&CaptureOrder>) -> Result<Vec<Tap>, EngineError> {
        let Some(order) = order else { return Ok(Vec::new()) };
        let threads = u32::try_from(self.shared.progress.len()).expect("a thread count");
        let (capture, taps) = capture::open(
            order.files.clone(),
            CaptureConfiguration {
                lba_bytes: order.lba_bytes,
                clock: format!("ns since the engine began, {}", self.clock_source()),
                ..CaptureConfiguration::new(self.limits.sector_bytes, threads)
            },
        )?;
        self.capture = Mutex::new(Some(capture));
        Ok(taps)
    }

    /// The limits that a program must keep.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the kernel gave every queue.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.equipment.features
    }

    /// Where the session's times come from.
    #[must_use]
    pub fn clock_source(&self) -> ClockSource {
        self.shared.clock.source()
    }

    /// Queue the steps behind those that wait already. They begin at once if the engine is idle.
    ///
    /// # Errors
    /// If a step makes no sense here, or the path can't do what it asks for; after a stop or a failure.
    pub fn submit(&self, program: Program) -> Result<(), EngineError> {
        if self.shared.signals.is_raised() {
            return Err(EngineError::Stopped);
        }
        let program = self.suited(program)?;
        let active = self.shared.barrier.active();
        if active.is_none() || self.shared.barrier.is_idle() {
            let next = active.map_or(0, |ended| ended.index + 1);
            self.shared.beginnings.add(next, CpuSnapshot::now());
        }
        self.shared.barrier.submit(program);
        Ok(())
    }

    /// Look whether `submit` would take these steps, without queueing them.
    ///
    /// # Errors
    /// As those of `submit`, but for a stop.
    pub fn check(&self, program: Program) -> Result<(), EngineError> {
        self.suited(program).map(drop)
    }

    /// The program as the path carries it out.
    fn suited(&self, mut program: Program) -> Result<Program, EngineError> {
        check_program(&program, &self.limits)?;
        for (step, position) in program.iter_mut().zip(1..) {
            self.suit(step).map_err(|reason| EngineError::Unsupported { step: position, reason })?;
        }
        Ok(program)
    }

    /// Fit a step to the path, or say why that can't be.
    fn suit(&self, step: &mut Step) -> Result<(), String> {
        if step.capture && !self.captures {
            return Err(NO_CAPTURE.into());
        }
        if let Some(rule) = step.stop.steady
            && !rule.window_ns.is_multiple_of(self.interval_ns)
        {
            return Err(format!(
                "a steady-state window of {} ns is not a multiple of the interval of {} ns",
                rule.window_ns, self.interval_ns
            ));
        }
        for stream in &mut step.streams {
            if stream.replay.is_some() && self.path == IoPath::Synchronous {
                return Err("the I/O path sync has a thread for each outstanding I/O, which keep no order: replay by \
                            io_uring"
                    .into());
            }
            let stimulus = &mut stream.stimulus;
            if stimulus.placement_handle.is_some() && self.path != IoPath::Passthrough {
                return Err(format!(
                    "the I/O path {} sends no placement handles: use {} on the generic device (/dev/ngXnY)",
                    self.path.name(),
                    IoPath::Passthrough.name()
                ));
            }
            if stimulus.atomic && !matches!(self.path, IoPath::Uring | IoPath::UringPolled) {
                return Err(format!(
                    "the I/O path {} sends no atomic writes: use {}",
                    self.path.name(),
                    IoPath::Uring.name()
                ));
            }
            for operation in Operation::ALL {
                if stimulus.operations.of(operation) > 0 && !self.equipment.supported.contains(&operation) {
                    return Err(format!(
                        "the I/O path {} has no {} here",
                        self.path.name(),
                        operation.name()
                    ));
                }
            }
            if self.path == IoPath::Synchronous {
                // One I/O at a time in each thread: TC x QD are outstanding all the same.
                (stimulus.tc, stimulus.qd) = (stimulus.tc * stimulus.qd, 1);
            }
        }
        if self.path == IoPath::Synchronous && !step.is_idle() {
            let limits = Limits { tc: step.tc(), qd: 1, ..self.limits };
            check_program(std::slice::from_ref(step), &limits)
                .map_err(|error| format!("with a thread for each outstanding I/O, {error}"))?;
            if step.tc() as usize > self.shared.progress.len() {
                return Err(format!("{} outstanding I/Os need as many threads", step.tc()));
            }
        }
        Ok(())
    }

    /// Wait for the next finished interval or step, no longer than `timeout`; `None` if there is none.
    ///
    /// # Errors
    /// When all threads are gone and nothing more will come.
    pub fn poll(&self, timeout: Duration) -> Result<Option<Report>, EngineError> {
        self.reports.poll(timeout)
    }

    /// Where the session stands now.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        if let Some(active) = self.shared.barrier.active() {
            progress.steps_begun = active.index + 1;
            progress.step_elapsed_ns = self.shared.clock.now_ns().saturating_sub(active.start_ns);
        }
        self.shared.progress.iter().for_each(|thread| progress.add(thread));
        progress
    }

    /// The I/O that waits longest for the device's answer, and how long in ns.
    #[must_use]
    pub fn oldest(&self) -> Option<(u64, Outstanding)> {
        let oldest = self.shared.flights.iter().filter_map(|flights| flights.oldest());
        let oldest = oldest.min_by_key(|outstanding| outstanding.submitted_ns)?;
        Some((self.shared.clock.now_ns().saturating_sub(oldest.submitted_ns), oldest))
    }

    /// End the step that runs, drop those that wait, and take no more. The step's result still comes.
    pub fn stop(&self) {
        self.shared.signals.stop();
        self.shared.barrier.close();
    }

    /// Stop, and complete the capture's file.
    ///
    /// # Errors
    /// If not every I/O could be written to it.
    pub fn finish(&self) -> Result<Option<CaptureSummary>, EngineError> {
        self.stop();
        self.join();
        let capture = self.lock_capture().take();
        Ok(capture.map(Capture::finish).transpose()?)
    }

    fn lock_capture(&self) -> MutexGuard<'_, Option<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self) {
        let give_up = Instant::now() + JOIN_LIMIT;
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // Not joined: a thread that has ended for us may still wait in the kernel for what hangs.
            while !thread.is_finished() && Instant::now() < give_up {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Where each thread's streams begin.
fn streams_of(configuration: &Configuration, threads: usize) -> Result<Vec<Carried>, EngineError> {
    let seed = configuration.seed;
    match configuration.resumed.as_ref().and_then(|resumed| resumed.carried.as_ref()) {
        None => Ok((0..).map(|thread| Carried::new(seed, thread)).take(threads).collect()),
        Some(streams) if streams.len() == threads && streams.iter().all(|stream| stream.is_of(seed)) => {
            Ok(streams.clone())
        }
        Some(_) => Err(EngineError::OtherStreams),
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}
