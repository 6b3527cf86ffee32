//! An open engine on one target: warm threads that wait for programs.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::collector::{Collector, StepResult};
use super::cpu::CpuSnapshot;
use super::gate::Gate;
use super::progress::{Progress, ThreadProgress};
use super::shard::Shard;
use super::worker::{Signals, Worker};
use crate::clock::Clock;
use crate::ring::{Ring, RingError, RingFeatures, Target};
use crate::workload::{Carried, Limits, Payload, Program};

/// One shard measures while the other is being collected.
const SHARDS_PER_THREAD: usize = 2;
/// How long to wait for the threads at the end. One whose I/O hangs in the device cannot end before the
/// kernel lets go of it, and is left to that.
const JOIN_LIMIT: Duration = Duration::from_secs(1);

/// What a session is made for.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// Size of the target and of the largest stimulus.
    pub limits: Limits,
    /// Seed of offsets, mix and payload.
    pub seed: u64,
    /// Length of an interval.
    pub interval_ns: u64,
}

/// The engine can't be opened or has ended.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A ring could not be made.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A thread could not be started.
    #[error("a thread or its waker can't be made: {0}")]
    Thread(#[source] std::io::Error),
    /// The session was stopped, or an I/O failed: it runs no more programs.
    #[error("the engine has stopped")]
    Stopped,
}

/// Threads with a ring each, warm from the first program to the last.
pub struct Session {
    configuration: Configuration,
    clock: Clock,
    gate: Arc<Gate>,
    signals: Arc<Signals>,
    progress: Vec<Arc<ThreadProgress>>,
    step_began: Arc<Mutex<CpuSnapshot>>,
    results: Mutex<Receiver<StepResult>>,
    threads: Vec<JoinHandle<()>>,
    features: RingFeatures,
}

impl Session {
    /// Start the threads and their rings.
    ///
    /// # Errors
    /// If the kernel has no io_uring for us, or memory or threads are short; nothing is left running.
    pub fn open(target: Target, configuration: Configuration) -> Result<Self, EngineError> {
        let clock = Clock::default();
        let tc = configuration.limits.tc;
        let gate = Arc::new(Gate::new(tc as usize, clock));
        let (deliver, deliveries) = mpsc::channel();
        let (ready, rings) = mpsc::channel();
        let (results_out, results) = mpsc::channel();
        let target = Arc::new(target);
        let mut session = Self {
            configuration,
            clock,
            gate: Arc::clone(&gate),
            signals: Arc::new(Signals::new().map_err(EngineError::Thread)?),
            progress: (0..tc).map(|_| Arc::default()).collect(),
            step_began: Arc::default(),
            results: Mutex::new(results),
            threads: Vec::new(),
            features: RingFeatures {
                deferred_completion: false,
                registered_buffers: false,
                registered_ring: false,
            },
        };
        let mut spares = Vec::new();
        for thread in 0..tc {
            let (spare_out, spare) = mpsc::channel();
            for _ in 0..SHARDS_PER_THREAD {
                let _ = spare_out.send(Box::<Shard>::default());
            }
            spares.push(spare_out);
            let make = session.worker_maker(thread, Arc::clone(&target), ready.clone());
            let (gate, deliver) = (Arc::clone(&gate), deliver.clone());
            session.spawn(format!("openpts-io-{thread}"), move || {
                if let Some(worker) = make() {
                    worker.run(&gate, &deliver, &spare);
                }
            })?;
        }
        let collector = Collector::new(spares, Arc::clone(&session.step_began));
        session.spawn("openpts-collect".into(), move || collector.run(&deliveries, &results_out))?;
        for _ in 0..tc {
            session.features = rings.recv().map_err(|_| EngineError::Stopped)??;
        }
        Ok(session)
    }

    /// What makes a worker inside its own thread: the ring belongs to the thread that makes it.
    fn worker_maker(
        &self,
        thread: u32,
        target: Arc<Target>,
        ready: Sender<Result<RingFeatures, RingError>>,
    ) -> impl FnOnce() -> Option<Worker> + Send + 'static {
        let Configuration { limits, seed, interval_ns } = self.configuration;
        let (clock, signals) = (self.clock, Arc::clone(&self.signals));
        let progress = Arc::clone(&self.progress[thread as usize]);
        move || {
            let (slots, block_bytes) = (limits.qd as usize, limits.block_size_bytes as usize);
            let ring = match Ring::new(&target, &signals.waker, slots, block_bytes) {
                Ok(ring) => ring,
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return None;
                }
            };
            let _ = ready.send(Ok(ring.features()));
            Some(Worker {
                thread,
                sector_bytes: limits.sector_bytes,
                interval_ns,
                clock,
                ring,
                carried: Carried::new(seed, thread),
                payload: Payload::for_thread(seed, thread),
                signals,
                progress,
            })
        }
    }

    fn spawn(&mut self, name: String, body: impl FnOnce() + Send + 'static) -> Result<(), EngineError> {
        let thread = thread::Builder::new().name(name).spawn(body).map_err(EngineError::Thread)?;
        self.threads.push(thread);
        Ok(())
    }

    /// The limits that a program must keep.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.configuration.limits
    }

    /// What the kernel gave every ring.
    #[must_use]
    pub fn features(&self) -> RingFeatures {
        self.features
    }

    /// Queue the steps behind those that wait already. They begin at once if the engine is idle.
    ///
    /// # Errors
    /// After a stop or a failed I/O.
    pub fn submit(&self, program: Program) -> Result<(), EngineError> {
        if self.signals.is_raised() {
            return Err(EngineError::Stopped);
        }
        if self.gate.active().is_none() {
            *self.step_began.lock().unwrap_or_else(PoisonError::into_inner) = CpuSnapshot::now();
        }
        self.gate.submit(program);
        Ok(())
    }

    /// Wait for the next finished step, no longer than `timeout`; `None` if there is none by then.
    ///
    /// # Errors
    /// When all threads are gone and nothing more will come.
    pub fn poll(&self, timeout: Duration) -> Result<Option<StepResult>, EngineError> {
        let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        match results.recv_timeout(timeout) {
            Ok(result) => Ok(Some(result)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(EngineError::Stopped),
        }
    }

    /// Where the session stands now.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        if let Some(active) = self.gate.active() {
            progress.steps_begun = active.index + 1;
            progress.step_elapsed_ns = self.clock.now_ns().saturating_sub(active.start_ns);
        }
        self.progress.iter().for_each(|thread| progress.add(thread));
        progress
    }

    /// End the step that runs, drop those that wait, and take no more. The step's result still comes.
    pub fn stop(&self) {
        self.signals.stop();
        self.gate.close();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
        let give_up = Instant::now() + JOIN_LIMIT;
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && Instant::now() < give_up {
                thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}
