//! The target: listens, serves connections, and keeps the drive's time going.

use std::fs::File;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use openpts_sim::{Preset, PresetError, Scale};
use rustix::event::{PollFd, PollFlags, poll};

use super::access::Access;
use super::authentication::Secrets;
use super::connection::Connection;
use super::connections::MOST_READERS;
use super::figures::Served;
use super::health;
use super::lock::lock;
use super::media::Media;
use super::paced_drive::PacedDrive;
use super::power_log;
use super::power_meter;
use super::store::Store;
use super::subsystem::{Character, Faults, Identity, Subsystem, Traffic};

/// How often it is looked whether serving ends.
const LOOK: Duration = Duration::from_millis(50);
const SECTOR_OF_4096: u32 = 4096;

/// What is to be served.
#[derive(Debug)]
pub struct Order {
    /// The drive's model.
    pub preset: Preset,
    /// The size that the host sees, in bytes.
    pub capacity_bytes: u64,
    /// What one simulated page stands for.
    pub scale: Scale,
    /// What the drive leaves to chance.
    pub seed: u64,
    /// Whether it begins in the state that long random writing leaves.
    pub is_worn_in: bool,
    /// Air around it, in place of the preset's, in degrees Celsius.
    pub ambient_c: Option<f64>,
    /// Endurance that is used up already, in per cent of the rated erases.
    pub initial_wear_pct: f64,
    /// Who it says it is.
    pub identity: Identity,
    /// The file that keeps its contents, open for us alone; none: they are in memory.
    pub data: Option<File>,
    /// How long block and crypto erase take at least.
    pub sanitize_takes: Duration,
    /// Its locking, and how long it takes to become ready.
    pub access: Access,
    /// What goes wrong.
    pub faults: Faults,
    /// The hosts that may connect once they have proven who they are; none: all may.
    pub secrets: Secrets,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The drive makes no sense.
    #[error(transparent)]
    Preset(#[from] PresetError),
    /// An option does not go with the preset.
    #[error("{0}")]
    Option(String),
    /// The file for the contents.
    #[error("can't keep the drive's contents in {0}: {1}")]
    Store(String, std::io::Error),
    /// The address.
    #[error("can't listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Threads.
    #[error("can't start a thread: {0}")]
    Thread(std::io::Error),
}

/// A drive that is served.
pub struct Target {
    subsystem: Arc<Subsystem>,
    address: SocketAddr,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Target {
    /// Make the drive, and serve it from now on.
    ///
    /// # Errors
    /// If the order makes no sense, the file or the address can't be had, or threads are short.
    pub fn start(order: Order, address: SocketAddr) -> Result<Self, TargetError> {
        let subsystem = Arc::new(subsystem_of(order)?);
        let listener = TcpListener::bind(address).map_err(|error| TargetError::Listen(address, error))?;
        listener.set_nonblocking(true).map_err(|error| TargetError::Listen(address, error))?;
        let address = listener.local_addr().map_err(|error| TargetError::Listen(address, error))?;
        let target = Self { subsystem, address, threads: Mutex::default() };
        let subsystem = Arc::clone(&target.subsystem);
        target.spawn("accept", move || accept(&listener, &subsystem))?;
        let subsystem = Arc::clone(&target.subsystem);
        target.spawn("drive", move || {
            while !subsystem.is_stopping() {
                subsystem.drive.keep();
                subsystem.feel();
                health::tell_of_flash(&subsystem);
                power_log::watch(&subsystem);
            }
        })?;
        Ok(target)
    }

    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TargetError> {
        let thread =
            std::thread::Builder::new().name(name.into()).spawn(work).map_err(TargetError::Thread)?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Where it listens; the port is a number also where 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Size of the drive as hosts see it.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.subsystem.drive.capacity_bytes()
    }

    /// Whether it still serves; false after a stop, and when the drive has vanished.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        !self.subsystem.is_stopping()
    }

    /// What was served so far.
    #[must_use]
    pub fn served(&self) -> Served {
        let traffic = &self.subsystem.traffic;
        let figures = lock(&self.subsystem.figures).served();
        Served {
            read_bytes: Traffic::of(&traffic.read_bytes),
            write_bytes: Traffic::of(&traffic.write_bytes),
            connections: self.subsystem.connections.number(),
            ..figures
        }
    }

    /// End all connections, and wait for the threads.
    pub fn stop(&self) {
        self.subsystem.is_stopping.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // One that panicked has said so already.
            let _ = thread.join();
        }
        // A file keeps what was written, as a drive that is switched off in order does.
        let _ = self.subsystem.store.sync();
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stop();
    }
}

fn subsystem_of(mut order: Order) -> Result<Subsystem, TargetError> {
    wear_in_advance(&mut order)?;
    warm_the_air(&mut order)?;
    let (preset, scale) = (&order.preset, &order.scale);
    let bytes = openpts_sim::simulated_bytes(order.capacity_bytes, *scale);
    let drive = PacedDrive::new(openpts_sim::open(preset, bytes, *scale, order.seed)?, *scale);
    if order.is_worn_in {
        drive.jump_start().map_err(|refusal| TargetError::Option(refusal.0))?;
    }
    let capacity_bytes = drive.capacity_bytes();
    let (place, store) = match order.data {
        None => ("memory", Store::in_memory(capacity_bytes)),
        Some(file) => ("the given file", Store::in_file(file, capacity_bytes)),
    };
    let store = match order.faults.power.clone() {
        Some(faults) => store.and_then(|store| store.with_cache(faults, order.seed)),
        None => store,
    }
    .map_err(|error| TargetError::Store(place.into(), error))?;
    let thermal = preset.page_mapped.as_ref().and_then(|model| model.thermal.as_ref());
    let wear = preset.page_mapped.as_ref().and_then(|model| model.wear.as_ref());
    let character = Character {
        purge: preset.purge,
        warning_c: thermal.and_then(|thermal| thermal.warning_c),
        critical_c: thermal.and_then(|thermal| thermal.critical_c),
        initial_wear_pct: order.initial_wear_pct,
        endurance_bytes: wear.map_or(0, |wear| power_meter::whole(wear.rated_erases * capacity_bytes as f64)),
        sanitize_takes: order.sanitize_takes,
        access: order.access,
    };
    let format = usize::from(preset.sector_bytes >= SECTOR_OF_4096);
    let media = Media::new(capacity_bytes, format);
    Ok(Subsystem::new(order.identity, drive, store, character, order.faults, media, order.secrets))
}

/// Cells that were erased so often before have so much less before them.
fn wear_in_advance(order: &mut Order) -> Result<(), TargetError> {
    if order.initial_wear_pct == 0.0 {
        return Ok(());
    }
    let none = || TargetError::Option(format!("{} has no wear: its cells last for ever", order.preset.name));
    let wear = order.preset.page_mapped.as_mut().and_then(|model| model.wear.as_mut()).ok_or_else(none)?;
    let left = wear.mean_erases - wear.rated_erases * order.initial_wear_pct / 100.0;
    if left < 1.0 {
        let most = wear.mean_erases / wear.rated_erases * 100.0;
        return Err(TargetError::Option(format!(
            "a wear of {} % is more than its cells stand: they fail at {most:.0} %",
            order.initial_wear_pct
        )));
    }
    wear.deviation_share *= wear.mean_erases / left;
    wear.mean_erases = left;
    Ok(())
}

fn warm_the_air(order: &mut Order) -> Result<(), TargetError> {
    let Some(ambient_c) = order.ambient_c else { return Ok(()) };
    let thermal = order.preset.page_mapped.as_mut().and_then(|model| model.thermal.as_mut());
    let none = || TargetError::Option(format!("{} has no temperature", order.preset.name));
    thermal.ok_or_else(none)?.ambient_c = ambient_c;
    Ok(())
}

fn accept(listener: &TcpListener, subsystem: &Arc<Subsystem>) {
    let mut readers: Vec<JoinHandle<()>> = Vec::new();
    let mut number = 0;
    while !subsystem.is_stopping() {
        let Some(socket) = next_host(listener) else { continue };
        readers.retain(|reader| !reader.is_finished());
        // Gone again, it has no address.
        let Ok(host) = socket.peer_addr() else { continue };
        if readers.len() >= MOST_READERS || socket.set_nonblocking(false).is_err() {
            continue;
        }
        number += 1;
        let socket = Arc::new(socket);
        subsystem.connections.enter(number, Arc::clone(&socket), host.ip());
        let (leaves, subsystem) = (subsystem, Arc::clone(subsystem));
        let reader = std::thread::Builder::new().name("commands".into());
        match reader.spawn(move || serve(&subsystem, socket, number)) {
            Ok(reader) => readers.push(reader),
            Err(_) => leaves.connections.leave(number),
        }
    }
    subsystem.connections.end();
    for reader in readers {
        // One that panicked has said so already.
        let _ = reader.join();
    }
}

/// The next host that comes within a look's time.
fn next_host(listener: &TcpListener) -> Option<TcpStream> {
    // A signal ends the wait early, which does no harm.
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], LOOK.try_into().ok().as_ref());
    match listener.accept() {
        Ok((socket, _)) => Some(socket),
        Err(error) => {
            if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) {
                // Without descriptors the host goes on waiting at the door, and no poll would sleep.
                std::thread::sleep(LOOK);
            }
            None
        }
    }
}

fn serve(subsystem: &Arc<Subsystem>, socket: Arc<TcpStream>, number: u64) {
    if let Some(connection) = Connection::begin(Arc::clone(subsystem), socket, number)
        && let Some(id) = connection.serve()
    {
        subsystem.remove_controller(id);
    }
    subsystem.connections.leave(number);
}
