//! A controller: what one host has set up by its admin connection.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use super::access::Access;
use super::command::{Command, Response, Status};
use super::events::{Event, Events};
use super::lock::lock;
use super::queue::Queue;
use super::settings::Settings;

/// Entries of a queue that a controller takes at most.
pub(super) const MOST_ENTRIES: u16 = 128;
/// I/O queues of a controller.
pub(super) const MOST_IO_QUEUES: u16 = 16;

/// How long a host may be silent that has promised nothing and has no I/O queue; with such queues it may be
/// silent for ever, but gives way after so long where room is short.
const SILENCE: Duration = Duration::from_secs(120);

/// NVMe 1.4, by which the structures are laid out.
pub(super) const VERSION: u32 = 0x0001_0400;

const CAPABILITIES: u32 = 0x00;
const VERSION_PROPERTY: u32 = 0x08;
pub(super) const CONFIGURATION: u32 = 0x14;
const STATUS: u32 = 0x1C;

const ENABLE: u32 = 1;
pub(super) const SHUTDOWN_MASK: u32 = 3 << 14;
const READY: u32 = 1;
const SHUTDOWN_DONE: u32 = 2 << 2;

/// Who a host says it is.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) nqn: String,
    pub(super) id: [u8; 16],
}

/// One host's view of the drive.
#[derive(Debug)]
pub(super) struct Controller {
    pub(super) id: u16,
    /// Whether it only tells where drives are.
    pub(super) is_discovery: bool,
    pub(super) host: Host,
    state: Mutex<State>,
    access: Access,
    began: Instant,
    /// When a command came last on any of its queues, since it began.
    heard_ms: AtomicU64,
}

/// What a controller does after it was enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    NotEnabled,
    /// Admin commands, and no namespace is ready.
    Controller,
    /// I/O too.
    Media,
}

#[derive(Debug)]
pub(super) struct State {
    configuration: u32,
    status: u32,
    /// When it was enabled.
    enabled: Instant,
    pub(super) features: Settings,
    pub(super) events: Events,
    /// Whether the temperature was at one of its thresholds or beyond.
    was_outside: bool,
    admin: Weak<Queue>,
    /// I/O queues by their numbers.
    io: BTreeMap<u16, Weak<Queue>>,
}

impl Controller {
    pub(super) fn new(
        id: u16,
        is_discovery: bool,
        host: Host,
        features: Settings,
        admin: &Arc<Queue>,
        access: Access,
    ) -> Self {
        let state = State {
            configuration: 0,
            status: 0,
            enabled: Instant::now(),
            features,
            events: Events::default(),
            was_outside: false,
            admin: Arc::downgrade(admin),
            io: BTreeMap::new(),
        };
        let (began, heard_ms) = (Instant::now(), AtomicU64::new(0));
        Self { id, is_discovery, host, state: Mutex::new(state), began, heard_ms, access }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether the host has enabled it, and it has become ready.
    pub(super) fn is_ready(&self) -> bool {
        self.readiness(Instant::now()) != Readiness::NotEnabled
    }

    /// How far it has come.
    pub(super) fn readiness(&self, now: Instant) -> Readiness {
        let state = self.lock();
        let since = now.saturating_duration_since(state.enabled);
        if state.status & READY == 0 || since < self.ready_after() {
            Readiness::NotEnabled
        } else if since < self.access.media_after {
            Readiness::Controller
        } else {
            Readiness::Media
        }
    }

    /// One that only tells where drives are has nothing to prepare.
    fn ready_after(&self) -> Duration {
        if self.is_discovery { Duration::ZERO } else { self.access.ready_after }
    }

    /// How long a host shall wait for it, in units of 500 ms (CAP.TO): 10 s, or more if it needs that.
    fn patience_units(&self) -> u64 {
        let units = self.access.ready_after.as_millis() / 500 + 10;
        u64::try_from(units).unwrap_or(u64::MAX).clamp(20, 255)
    }

    /// Add an I/O queue, which ends when the controller does.
    pub(super) fn add_io_queue(&self, number: u16, queue: &Arc<Queue>) -> Result<(), Status> {
        let mut state = self.lock();
        let is_taken = state.io.get(&number).and_then(Weak::upgrade).is_some_and(|queue| !queue.is_closed());
        if state.status & READY == 0 || state.enabled.elapsed() < self.ready_after() || is_taken {
            return Err(Status::COMMAND_SEQUENCE);
        }
        state.io.insert(number, Arc::downgrade(queue));
        Ok(())
    }

    /// Its host is gone.
    pub(super) fn disable(&self) {
        self.lock().disable();
    }

    /// A command has come.
    pub(super) fn hear(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard_ms.store(ms, Ordering::Relaxed);
    }

    /// When a command came last.
    pub(super) fn heard(&self) -> Instant {
        self.began + Duration::from_millis(self.heard_ms.load(Ordering::Relaxed))
    }

    /// How long the host may be silent on its admin queue; `None`: for ever.
    pub(super) fn patience(&self) -> Option<Duration> {
        let state = self.lock();
        match state.features.keep_alive_ms {
            0 => (!state.has_io_queue()).then_some(SILENCE),
            // Twice its promise: what arrives late by the load of a machine is no loss of the host.
            keep_alive_ms => Some(Duration::from_millis(u64::from(keep_alive_ms) * 2)),
        }
    }

    /// Whether it does no I/O: it has no queue for that, or has long been silent.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        !self.lock().has_io_queue() || now.saturating_duration_since(self.heard()) >= SILENCE
    }

    pub(super) fn property(&self, offset: u32) -> Result<u64, Status> {
        let state = self.lock();
        match offset {
            // Entries, contiguous queues, how long it may take to be ready, the NVM command set.
            CAPABILITIES => Ok(u64::from(MOST_ENTRIES - 1) | 1 << 16 | self.patience_units() << 24 | 1 << 37),
            VERSION_PROPERTY => Ok(VERSION.into()),
            CONFIGURATION => Ok(state.configuration.into()),
            STATUS => {
                let is_early = state.enabled.elapsed() < self.ready_after();
                Ok((if is_early { state.status & !READY } else { state.status }).into())
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    pub(super) fn set_property(&self, offset: u32, value: u64) -> Result<(), Status> {
        let CONFIGURATION = offset else { return Err(Status::INVALID_FIELD) };
        let mut state = self.lock();
        let was = state.configuration;
        #[expect(clippy::cast_possible_truncation, reason = "the property has 32 bits")]
        let now = value as u32;
        state.configuration = now;
        if now & ENABLE != 0 && was & ENABLE == 0 {
            state.status = READY;
            state.enabled = Instant::now();
        }
        if now & ENABLE == 0 && was & ENABLE != 0 {
            state.disable();
        }
        if now & SHUTDOWN_MASK != 0 && was & SHUTDOWN_MASK == 0 {
            state.status |= SHUTDOWN_DONE;
        }
        Ok(())
    }

    /// A request for an asynchronous event.
    pub(super) fn await_event(&self, command: &Command) -> Result<(), Status> {
        let taken = self.lock().events.request(command.id());
        self.tell();
        if taken { Ok(()) } else { Err(Status::TOO_MANY_EVENT_REQUESTS) }
    }

    /// Something happened that the host may want to know.
    pub(super) fn raise(&self, event: Event) {
        {
            let mut state = self.lock();
            let wishes = state.features.event_wishes;
            state.events.raise(event, wishes);
        }
        self.tell();
    }

    /// The drive is so warm now: a threshold that is crossed is told.
    pub(super) fn feel(&self, now_k: u16) {
        let mut state = self.lock();
        let is_outside = state.features.is_outside(now_k);
        let is_new = is_outside && !state.was_outside;
        state.was_outside = is_outside;
        drop(state);
        if is_new {
            self.raise(Event::Temperature);
        }
    }

    /// Answer the requests that can be.
    pub(super) fn tell(&self) {
        let mut state = self.lock();
        let Some(admin) = state.admin.upgrade() else { return };
        while let Some((command, result)) = state.events.take() {
            admin.answer(Response {
                command,
                status: Status::SUCCESS,
                result,
                data: Vec::new(),
                _held: None,
            });
        }
    }
}

impl State {
    fn has_io_queue(&self) -> bool {
        self.io.values().filter_map(Weak::upgrade).any(|queue| !queue.is_closed())
    }

    /// Not ready any more. The I/O queues end first: no host shall hear on them that it is so, since it would
    /// give up what it can send again when it has connected anew.
    fn disable(&mut self) {
        std::mem::take(&mut self.io)
            .into_values()
            .filter_map(|queue| queue.upgrade())
            .for_each(|queue| queue.close());
        self.status = 0;
        self.was_outside = false;
        let forgotten = self.events.forget();
        if let Some(admin) = self.admin.upgrade() {
            admin.give_up(forgotten);
        }
    }
}
