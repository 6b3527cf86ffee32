//! Room in memory for what is under way: hosts that neither read nor send must not fill this machine's.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::lock::lock;

/// What all connections may hold together.
const MOST_BYTES: usize = 128 << 20;
/// What one connection may hold of that: 32 transfers of the largest size.
const MOST_OF_ONE_BYTES: usize = 32 << 20;
/// What each connection may hold even where the others hold all: so none is shut out.
const OWN_BYTES: usize = 1 << 20;

/// Bytes that are held for all connections.
#[derive(Debug, Default)]
pub(super) struct Room {
    held_bytes: AtomicUsize,
    waiting: AtomicUsize,
    door: Mutex<()>,
    changed: Condvar,
}

/// One connection's part of it.
#[derive(Debug)]
pub(super) struct Share {
    held_bytes: AtomicUsize,
    room: Arc<Room>,
}

/// Bytes that count until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    bytes: usize,
    share: Arc<Share>,
}

impl Share {
    pub(super) fn new(room: &Arc<Room>) -> Arc<Self> {
        Arc::new(Self { held_bytes: AtomicUsize::new(0), room: Arc::clone(room) })
    }

    /// Count so many bytes. What is held may exceed the limits by one transfer: they are asked before.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        self.held_bytes.fetch_add(bytes, Ordering::SeqCst);
        self.room.held_bytes.fetch_add(bytes, Ordering::SeqCst);
        Held { bytes, share: Arc::clone(self) }
    }

    /// Whether the connection may begin another transfer.
    pub(super) fn has_room(&self) -> bool {
        let own = self.held_bytes.load(Ordering::SeqCst);
        own < OWN_BYTES || own < MOST_OF_ONE_BYTES && self.room.held_bytes.load(Ordering::SeqCst) < MOST_BYTES
    }

    /// Wait until there may be room, or for so long.
    pub(super) fn wait(&self, most: Duration) {
        let room = &*self.room;
        let door = lock(&room.door);
        // Before it is looked: what is given back from now on wakes this thread.
        room.waiting.fetch_add(1, Ordering::SeqCst);
        if !self.has_room() {
            drop(room.changed.wait_timeout(door, most).unwrap_or_else(PoisonError::into_inner));
        }
        room.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let room = &*self.share.room;
        self.share.held_bytes.fetch_sub(self.bytes, Ordering::SeqCst);
        room.held_bytes.fetch_sub(self.bytes, Ordering::SeqCst);
        if room.waiting.load(Ordering::SeqCst) > 0 {
            drop(lock(&room.door));
            room.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_has_room_where_others_hold_all() {
        let room = Arc::default();
        let greedy: Vec<_> = (0..4).map(|_| Share::new(&room)).collect();
        let mut held = Vec::new();
        for share in &greedy {
            while share.has_room() {
                held.push(share.hold(1 << 20));
            }
        }
        assert_eq!(held.len(), 128);
        let modest = Share::new(&room);
        assert!(modest.has_room());
        let own = modest.hold(1 << 20);
        assert!(!modest.has_room());
        drop(held.pop());
        drop(held.pop());
        assert!(modest.has_room() && !greedy[0].has_room());
        drop((held, own));
        assert_eq!(room.held_bytes.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn who_waits_is_woken_by_what_is_given_back() {
        let room = Arc::default();
        let share = Share::new(&room);
        let held = share.hold(MOST_OF_ONE_BYTES);
        let began = std::time::Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| share.wait(Duration::from_secs(60)));
            while room.waiting.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            drop(held);
        });
        assert!(share.has_room());
        assert!(began.elapsed() < Duration::from_secs(50));
    }
}
