//! Who is connected, and who gives way when there are too many.
//!
//! A connection is a stranger's until its host has connected a queue (and has authenticated, where that is
//! asked for); then it belongs to a controller. Strangers only displace strangers.

use std::collections::BTreeMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::command::Status;
use super::controller::Controller;
use super::lock::lock;

/// Connections that belong to controllers. Each has one descriptor and two threads.
const MOST_SETTLED: usize = 128;
/// Of one host: two controllers with all their queues, as while a host reconnects, and some discovery.
const MOST_OF_A_HOST: usize = 48;
/// Connections that belong to no controller yet.
const MOST_STRANGERS: usize = 32;
/// Threads that read, those of connections included that have ended a moment ago.
pub(super) const MOST_READERS: usize = MOST_SETTLED + 2 * MOST_STRANGERS;

#[derive(Debug)]
struct Guest {
    socket: Arc<TcpStream>,
    address: IpAddr,
    controller: Option<Arc<Controller>>,
}

impl Guest {
    fn end(&self) {
        // It may be gone already, which is what is wanted. Its reader finds the end.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// The connections by their numbers, which ascend in time.
#[derive(Debug, Default)]
pub(super) struct Connections {
    guests: Mutex<BTreeMap<u64, Guest>>,
}

impl Connections {
    pub(super) fn number(&self) -> usize {
        lock(&self.guests).len()
    }

    /// A stranger has come. Where there are too many of them, the oldest gives way of the address that has most.
    pub(super) fn enter(&self, number: u64, socket: Arc<TcpStream>, address: IpAddr) {
        let mut guests = lock(&self.guests);
        let mut by_address: BTreeMap<IpAddr, Vec<u64>> = BTreeMap::new();
        for (number, guest) in guests.iter().filter(|(_, guest)| guest.controller.is_none()) {
            by_address.entry(guest.address).or_default().push(*number);
        }
        if by_address.values().map(Vec::len).sum::<usize>() >= MOST_STRANGERS
            && let Some(crowd) = by_address.values().max_by_key(|numbers| numbers.len())
            && let Some(oldest) = guests.remove(&crowd[0])
        {
            oldest.end();
        }
        guests.insert(number, Guest { socket, address, controller: None });
    }

    /// A connection has ended.
    pub(super) fn leave(&self, number: u64) {
        lock(&self.guests).remove(&number);
    }

    /// A connection belongs to a controller from now on.
    ///
    /// # Errors
    /// If there are too many of its host, or altogether, and none gives way.
    pub(super) fn settle(&self, number: u64, controller: &Arc<Controller>) -> Result<(), Status> {
        let mut guests = lock(&self.guests);
        let nqn = &controller.host.nqn;
        make_room(&mut guests, controller, MOST_OF_A_HOST, |each| each.host.nqn == *nqn)?;
        make_room(&mut guests, controller, MOST_SETTLED, |_| true)?;
        // Displaced meanwhile, it is not there any more.
        let guest = guests.get_mut(&number).ok_or(Status::CONNECT_BUSY)?;
        guest.controller = Some(Arc::clone(controller));
        Ok(())
    }

    /// End all.
    pub(super) fn end(&self) {
        lock(&self.guests).values().for_each(Guest::end);
    }
}

/// Have less than `most` connections whose controllers are such: idle controllers other than the `newcomer`
/// give way, the longest silent first.
fn make_room(
    guests: &mut BTreeMap<u64, Guest>,
    newcomer: &Arc<Controller>,
    most: usize,
    is_such: impl Fn(&Controller) -> bool,
) -> Result<(), Status> {
    loop {
        let such = guests.values().filter_map(|guest| guest.controller.as_ref()).filter(|each| is_such(each));
        if such.clone().count() < most {
            return Ok(());
        }
        let now = Instant::now();
        let may_give_way = |each: &&Arc<Controller>| !Arc::ptr_eq(each, newcomer) && each.is_idle(now);
        let idle = such.filter(may_give_way).min_by_key(|each| each.heard());
        let idle = Arc::clone(idle.ok_or(Status::CONNECT_BUSY)?);
        guests.retain(|_, guest| {
            let stays = guest.controller.as_ref().is_none_or(|each| !Arc::ptr_eq(each, &idle));
            if !stays {
                guest.end();
            }
            stays
        });
    }
}
