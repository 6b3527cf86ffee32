//! Starts a session's threads: each makes its queue by itself, since a ring belongs to the thread that
//! makes it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::barrier::Barrier;
use super::collector::Collector;
use super::completion_wait::CompletionWait;
use super::configuration::Configuration;
use super::context::Context;
use super::error::EngineError;
use super::output::{Output, Part};
use super::shared::Shared;
use super::signals::Signals;
use super::slots::Slots;
use super::slow::SlowWatch;
use super::tally::Tally;
use super::worker::Worker;
use crate::capture::Tap;
use crate::data::DataSource;
use crate::machine::{Features, IoPath, Queue, Shape, Target, TargetQueue, pin_to_cpu, tighten_timers};
use crate::workload::{Carried, Limits, Operation};

/// One tally is filled while another is collected.
const SPARE_TALLIES: usize = 2;

/// What the threads found when they made their queues.
#[derive(Debug, Default)]
pub(super) struct Equipment {
    pub(super) features: Features,
    pub(super) supported: Vec<Operation>,
}

/// Ends the session if its thread panics: the others would wait for it at the barrier for ever.
struct Alarm(Arc<Barrier>, Arc<Signals>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if thread::panicking() {
            self.1.fail();
            self.0.close();
        }
    }
}

/// Threads that a session needs: where a thread can have but one I/O outstanding, one for each.
pub(super) fn threads_of(limits: &Limits, path: IoPath) -> usize {
    let per_thread = if path == IoPath::Synchronous { limits.qd as usize } else { 1 };
    limits.tc as usize * per_thread
}

/// I/Os that each of them may have outstanding.
pub(super) fn slots_of(limits: &Limits, path: IoPath) -> usize {
    if path == IoPath::Synchronous { 1 } else { limits.qd as usize }
}

/// Start the threads and the collector. The latter is the last of the handles.
pub(super) fn start(
    target: Target,
    configuration: &Configuration,
    shared: &Shared,
    streams: &[Carried],
    mut taps: Vec<Tap>,
    collector: impl FnOnce(Vec<Sender<Box<Tally>>>, Receiver<Part>) -> Collector,
) -> Result<(Vec<JoinHandle<()>>, Equipment), EngineError> {
    let target = Arc::new(target);
    let (deliver, parts) = mpsc::channel();
    let (ready, equipments) = mpsc::channel();
    let (mut spares, mut handles) = (Vec::new(), Vec::new());
    taps.reverse();
    let threads = shared.progress.len();
    for (thread, carried) in streams.iter().enumerate() {
        let (spare_out, spare) = mpsc::channel();
        for _ in 0..SPARE_TALLIES {
            let _ = spare_out.send(Box::<Tally>::default());
        }
        spares.push(spare_out);
        let number = thread + 1;
        let thread = u32::try_from(thread).expect("a thread count");
        let output = Output::new(thread, configuration.interval_ns, deliver.clone(), spare);
        let plan = Plan::new(configuration, thread, carried.clone(), taps.pop());
        let (shared, target, ready) = (shared.clone(), Arc::clone(&target), ready.clone());
        let handle = spawn(format!("openpts-io-{thread}"), move || plan.run(&target, shared, output, &ready));
        handles.push(handle.map_err(|source| EngineError::Threads { number, threads, source })?);
    }
    drop((deliver, ready));
    let collector = collector(spares, parts);
    handles.push(spawn("openpts-collect".into(), move || collector.run()).map_err(EngineError::Thread)?);
    let mut equipment: Option<Equipment> = None;
    for _ in 0..threads {
        let one = equipments.recv().map_err(|_| EngineError::Stopped)??;
        equipment = Some(match equipment {
            Some(others) => Equipment { features: others.features.shared_with(&one.features), ..one },
            None => one,
        });
    }
    Ok((handles, equipment.unwrap_or_default()))
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name).spawn(body)
}

/// What one thread is to become.
struct Plan {
    thread: u32,
    path: IoPath,
    cpu: Option<usize>,
    shape: Shape,
    seed: u64,
    completion_wait: CompletionWait,
    slow_io_ns: Option<u64>,
    tap: Option<Tap>,
    carried: Carried,
    interruptions: u32,
}

impl Plan {
    fn new(configuration: &Configuration, thread: u32, carried: Carried, tap: Option<Tap>) -> Self {
        let Configuration { limits, path, cpus, seed, completion_wait, slow_io_ns, resumed, .. } =
            configuration;
        let shape = Shape {
            slots: slots_of(limits, *path),
            block_bytes: limits.block_size_bytes as usize,
            sector_bytes: limits.sector_bytes,
        };
        let cpu = (!cpus.is_empty()).then(|| cpus[thread as usize % cpus.len()]);
        Self {
            thread,
            path: *path,
            cpu,
            shape,
            seed: *seed,
            completion_wait: *completion_wait,
            slow_io_ns: *slow_io_ns,
            tap,
            carried,
            interruptions: resumed.as_ref().map_or(0, |resumed| resumed.interruptions),
        }
    }

    fn run(
        self,
        target: &Target,
        shared: Shared,
        output: Output,
        ready: &Sender<Result<Equipment, EngineError>>,
    ) {
        let queue = match self.open_queue(target, &shared) {
            Ok(queue) => queue,
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        let supported = Operation::ALL.into_iter().filter(|operation| queue.supports(*operation)).collect();
        let _ = ready.send(Ok(Equipment { features: queue.features(), supported }));
        match queue {
            TargetQueue::File(queue) => self.work(queue, target, shared, output),
            TargetQueue::Nvme(queue) => self.work(queue, target, shared, output),
            TargetQueue::Positional(queue) => self.work(queue, target, shared, output),
            TargetQueue::NoOp(queue) => self.work(queue, target, shared, output),
        }
    }

    fn open_queue(&self, target: &Target, shared: &Shared) -> Result<TargetQueue, EngineError> {
        if let Some(cpu) = self.cpu {
            pin_to_cpu(cpu).map_err(|source| EngineError::Pin { cpu, source })?;
        }
        // Without it paced I/Os are up to 50 us late, which a kernel that refuses makes us live with.
        let _ = tighten_timers();
        Ok(TargetQueue::open(self.path, target, &shared.signals.waker, &self.shape)?)
    }

    fn work<Q: Queue>(self, queue: Q, target: &Target, shared: Shared, output: Output) {
        let thread = self.thread as usize;
        let watch = |limit_ns| SlowWatch::new(limit_ns, target.driver_counts(), shared.flights.clone());
        let context = Context {
            thread: self.thread,
            sector_bytes: self.shape.sector_bytes,
            completion_wait: self.completion_wait,
            clock: shared.clock,
            queue,
            slots: Slots::new(Arc::clone(&shared.flights[thread])),
            data: DataSource::new(self.seed, self.thread).after_interruptions(self.interruptions),
            signals: Arc::clone(&shared.signals),
            progress: Arc::clone(&shared.progress[thread]),
            tap: self.tap,
            slow: self.slow_io_ns.map(watch),
            priority: 0,
            beginnings: Arc::clone(&shared.beginnings),
        };
        let _alarm = Alarm(Arc::clone(&shared.barrier), Arc::clone(&shared.signals));
        let worker = Worker { context, output, carried: self.carried };
        worker.run(&shared.barrier);
    }
}
