//! The drive that all hosts share: simulated flash, contents, namespaces, controllers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use openpts_sim::{PowerFaults, Purge, Sensed};

use super::access::Access;
use super::authentication::Secrets;
use super::connections::Connections;
use super::controller::Controller;
use super::events::Event;
use super::figures::Figures;
use super::firmware::Firmware;
use super::lock::lock;
use super::media::Media;
use super::overrides::Overrides;
use super::paced_drive::PacedDrive;
use super::placement_events::HostEvents;
use super::power_meter::PowerMeter;
use super::room::Room;
use super::sanitize_log::SanitizeState;
use super::security::Locking;
use super::self_test_log::{Ending, SelfTests};
use super::store::Store;

/// Kelvin at 0 °C.
const ZERO_CELSIUS_K: i32 = 273;

/// Who the drive says it is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its name among NVMe subsystems.
    pub nqn: String,
    /// Serial number, up to 20 characters.
    pub serial: String,
    /// Model, up to 40 characters.
    pub model: String,
    /// Firmware, up to 8 characters.
    pub firmware: String,
    /// What no other drive has.
    pub guid: [u8; 16],
}

/// What goes wrong on purpose.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// A sanitize ends as failed.
    pub sanitize_fails: bool,
    /// A format ends with an internal error.
    pub format_fails: bool,
    /// A format or sanitize says that it is done, and the data are still there.
    pub purge_lies: bool,
    /// Reads of these bytes of the drive end with a media error.
    pub unreadable_bytes: Vec<u64>,
    /// After so many I/Os the drive is gone: connections end, and none is taken any more.
    pub vanishes_after_ios: Option<u64>,
    /// What shows when the power goes, that is, when the process is killed: None leaves it nothing to lose.
    pub power: Option<PowerFaults>,
    /// What it answers otherwise than it would.
    pub overrides: Overrides,
}

/// What a preset says of the drive beside its model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Character {
    pub(super) purge: Purge,
    pub(super) warning_c: Option<f64>,
    pub(super) critical_c: Option<f64>,
    /// Wear that it had at the beginning, in per cent of what it is rated for.
    pub(super) initial_wear_pct: f64,
    /// What may be written to it where the host's writes are all that is written; 0: no limit is known.
    pub(super) endurance_bytes: u64,
    /// How long block and crypto erase take at least.
    pub(super) sanitize_takes: Duration,
    pub(super) access: Access,
}

/// What the host has asked for.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) reads: AtomicU64,
    pub(super) read_bytes: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) write_bytes: AtomicU64,
    pub(super) ios: AtomicU64,
    pub(super) unaligned_writes: AtomicU64,
}

impl Traffic {
    pub(super) fn count(number: &AtomicU64, by: u64) {
        number.fetch_add(by, Ordering::Relaxed);
    }

    pub(super) fn of(number: &AtomicU64) -> u64 {
        number.load(Ordering::Relaxed)
    }
}

/// Heat over time, as far as the model's log does not tell it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heat {
    pub(super) throttled: Duration,
    looked: Option<Instant>,
}

pub(super) struct Subsystem {
    pub(super) identity: Identity,
    pub(super) drive: PacedDrive,
    pub(super) store: Store,
    pub(super) character: Character,
    pub(super) faults: Faults,
    pub(super) traffic: Traffic,
    /// Reads that failed beside those that the model let fail.
    pub(super) unreadable_reads: AtomicU64,
    /// What the hosts were warned of, as bits of the SMART log's first byte.
    pub(super) warned: AtomicU8,
    pub(super) sanitize: Mutex<SanitizeState>,
    pub(super) locking: Mutex<Locking>,
    pub(super) firmware: Mutex<Firmware>,
    pub(super) heat: Mutex<Heat>,
    pub(super) hottest_c: AtomicU8,
    pub(super) telemetry_generation: AtomicU8,
    power: Mutex<PowerMeter>,
    self_tests: Mutex<SelfTests>,
    pub(super) placement_events: Mutex<HostEvents>,
    pub(super) figures: Arc<Mutex<Figures>>,
    pub(super) began: Instant,
    pub(super) is_stopping: AtomicBool,
    pub(super) connections: Connections,
    pub(super) secrets: Secrets,
    /// Data for hosts that have not read them, and room for data that hosts have yet to send.
    pub(super) unsent: Arc<Room>,
    pub(super) receiving: Arc<Room>,
    media: RwLock<Media>,
    controllers: Mutex<BTreeMap<u16, Arc<Controller>>>,
}

impl Subsystem {
    pub(super) fn new(
        identity: Identity,
        drive: PacedDrive,
        store: Store,
        character: Character,
        faults: Faults,
        media: Media,
        secrets: Secrets,
    ) -> Self {
        let sanitize = SanitizeState::new(store.allocated_bytes() == 0);
        let firmware = Firmware::new(&identity.firmware);
        Self {
            identity,
            drive,
            store,
            character,
            faults,
            traffic: Traffic::default(),
            unreadable_reads: AtomicU64::default(),
            warned: AtomicU8::default(),
            sanitize: Mutex::new(sanitize),
            locking: Mutex::new(Locking::new(character.access.security)),
            firmware: Mutex::new(firmware),
            heat: Mutex::default(),
            hottest_c: AtomicU8::default(),
            telemetry_generation: AtomicU8::default(),
            power: Mutex::default(),
            self_tests: Mutex::default(),
            placement_events: Mutex::default(),
            figures: Arc::default(),
            began: Instant::now(),
            is_stopping: AtomicBool::new(false),
            connections: Connections::default(),
            secrets,
            unsent: Arc::default(),
            receiving: Arc::default(),
            media: RwLock::new(media),
            controllers: Mutex::default(),
        }
    }

    /// Namespaces, to be used while no command erases them.
    pub(super) fn media(&self) -> RwLockReadGuard<'_, Media> {
        self.media.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Namespaces, to be changed while no command uses them.
    pub(super) fn media_mut(&self) -> RwLockWriteGuard<'_, Media> {
        self.media.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sanitize(&self) -> MutexGuard<'_, SanitizeState> {
        lock(&self.sanitize)
    }

    /// The power that was drawn so far.
    pub(super) fn power(&self) -> MutexGuard<'_, PowerMeter> {
        lock(&self.power)
    }

    /// The self-tests as they are by now.
    pub(super) fn self_tests(&self) -> MutexGuard<'_, SelfTests> {
        let is_failing = self.drive.smart().read_only;
        let mut tests = lock(&self.self_tests);
        tests.settle(Instant::now(), self.power_on_hours(), is_failing);
        tests
    }

    /// End the self-test that is under way, because of something else that the drive is to do.
    pub(super) fn abort_self_test(&self, ending: Ending) {
        self.self_tests().end(ending, self.power_on_hours());
    }

    /// Whole hours since it was switched on.
    pub(super) fn power_on_hours(&self) -> u64 {
        self.began.elapsed().as_secs() / 3600
    }

    fn controllers(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<Controller>>> {
        lock(&self.controllers)
    }

    /// Add a controller under the first number that is free; `None` if all are taken.
    pub(super) fn add_controller(&self, make: impl FnOnce(u16) -> Controller) -> Option<Arc<Controller>> {
        let mut controllers = self.controllers();
        let id = (1..0xFFF0).find(|id| !controllers.contains_key(id))?;
        let controller = Arc::new(make(id));
        controllers.insert(id, Arc::clone(&controller));
        Some(controller)
    }

    pub(super) fn controller(&self, id: u16) -> Option<Arc<Controller>> {
        self.controllers().get(&id).cloned()
    }

    /// Numbers of the controllers that give I/O.
    pub(super) fn controller_ids(&self) -> Vec<u16> {
        self.io_controllers().iter().map(|each| each.id).collect()
    }

    fn io_controllers(&self) -> Vec<Arc<Controller>> {
        self.controllers().values().filter(|each| !each.is_discovery).cloned().collect()
    }

    /// A controller's admin connection has ended, and its I/O queues end with it.
    pub(super) fn remove_controller(&self, id: u16) {
        let removed = self.controllers().remove(&id);
        if let Some(controller) = removed {
            let was_ready = controller.is_ready();
            controller.disable();
            if was_ready {
                self.controller_was_reset(&controller);
            }
        }
    }

    /// A controller is no longer enabled: what it does not survive ends.
    pub(super) fn controller_was_reset(&self, controller: &Controller) {
        if !controller.is_discovery {
            self.abort_self_test(Ending::AbortedByReset);
            lock(&self.firmware).reset();
        }
    }

    /// Tell all hosts of an event.
    pub(super) fn raise(&self, event: Event) {
        self.io_controllers().iter().for_each(|each| each.raise(event));
    }

    /// The preset's warning threshold in kelvin.
    pub(super) fn warning_k(&self) -> Option<u16> {
        self.character.warning_c.map(kelvin)
    }

    /// The number on the drive's label.
    pub(super) fn psid(&self) -> String {
        self.identity.guid.iter().map(|byte| format!("{byte:02X}")).collect()
    }

    /// Whether a format reports a failure.
    pub(super) fn format_fails(&self) -> bool {
        self.faults.format_fails || self.character.purge == Purge::Fails
    }

    /// Whether a format or sanitize reports success and leaves the data.
    pub(super) fn purge_lies(&self) -> bool {
        self.faults.purge_lies || self.character.purge == Purge::Lies
    }

    /// An I/O was taken; the drive may vanish with it.
    pub(super) fn count_io(&self) {
        let ios = self.traffic.ios.fetch_add(1, Ordering::Relaxed) + 1;
        if self.faults.vanishes_after_ios.is_some_and(|most| ios > most) {
            self.is_stopping.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Look at the temperature: time under throttling adds up, and thresholds that are crossed are told.
    pub(super) fn feel(&self) {
        let Some(Sensed { temperature_c, throttles, .. }) = self.drive.sensed() else { return };
        let now = Instant::now();
        let mut heat = lock(&self.heat);
        if throttles && let Some(looked) = heat.looked {
            heat.throttled += now - looked;
        }
        heat.looked = Some(now);
        drop(heat);
        self.hottest_c.fetch_max(u8::try_from(temperature_c.max(0)).unwrap_or(u8::MAX), Ordering::Relaxed);
        self.io_controllers().iter().for_each(|each| each.feel(kelvin(temperature_c.into())));
    }
}

/// Degrees Celsius as NVMe has them.
pub(super) fn kelvin(celsius: f64) -> u16 {
    #[expect(clippy::cast_possible_truncation, reason = "bounded on both sides")]
    let whole = celsius.round().clamp(-273.0, 10_000.0) as i32;
    u16::try_from(whole + ZERO_CELSIUS_K).unwrap_or(0)
}
