//! The way back to the host: each answer goes out when the simulated drive would have given it.
//!
//! A runtime's timer wheel turns in milliseconds; here microseconds count, so each connection has a thread
//! that sleeps until its next answer is due, with the kernel's timer slack taken off.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use openpts_core::machine::tighten_timers;

use super::command::Response;
use super::figures::Figures;
use super::lock::lock;
use super::pdu::{Wire, respond};
use super::room::{Held, Share};

/// Answers go out together up to so many bytes.
const BATCH_BYTES: usize = 1 << 20;
/// How long a host may leave what is sent to it in the socket, and how long it may take to read one batch.
pub(super) const SENDING: Duration = Duration::from_secs(10);

/// An answer, and when it is due.
#[derive(Debug)]
struct Due {
    at: Instant,
    order: u64,
    response: Response,
    /// When the drive got the I/O; `None` for what no model times.
    begun: Option<Instant>,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

#[derive(Debug, Default)]
struct Pending {
    heap: BinaryHeap<Reverse<Due>>,
    orders: u64,
    is_closed: bool,
}

/// A connection's answers.
#[derive(Debug)]
pub(super) struct Queue {
    /// The number of its connection among all.
    connection: u64,
    socket: Arc<TcpStream>,
    /// Held while bytes go out, so that no PDU is within another.
    sending: Mutex<()>,
    wire: Wire,
    pending: Mutex<Pending>,
    changed: Condvar,
    /// Commands taken so far, those of them without an answer, and the entries of the host's queue.
    taken: AtomicU32,
    outstanding: AtomicU32,
    entries: AtomicU32,
    /// Its number among the host's queues; 0: the admin queue.
    number: AtomicU16,
    figures: Arc<Mutex<Figures>>,
    /// Data for the host that it has not been sent yet.
    unsent: Arc<Share>,
}

impl Queue {
    pub(super) fn new(
        connection: u64,
        socket: Arc<TcpStream>,
        wire: Wire,
        figures: Arc<Mutex<Figures>>,
        unsent: Arc<Share>,
    ) -> Self {
        Self {
            connection,
            socket,
            sending: Mutex::default(),
            wire,
            pending: Mutex::default(),
            changed: Condvar::new(),
            taken: AtomicU32::new(0),
            outstanding: AtomicU32::new(0),
            entries: AtomicU32::new(1),
            number: AtomicU16::new(0),
            figures,
            unsent,
        }
    }

    /// The number of its connection among all.
    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    /// Count data that will be sent; what is counted ends with it.
    pub(super) fn hold(&self, bytes: usize) -> Held {
        self.unsent.hold(bytes)
    }

    /// Whether another command may be read: what waits for the host to read it is bounded.
    pub(super) fn has_room(&self) -> bool {
        self.unsent.has_room()
    }

    /// Wait until there may be room, or for so long.
    pub(super) fn wait_for_room(&self, most: Duration) {
        self.unsent.wait(most);
    }

    /// What both sides agreed on.
    pub(super) fn wire(&self) -> Wire {
        self.wire
    }

    /// Which queue of the host this is, and how many entries it has.
    pub(super) fn name(&self, number: u16, entries: u32) {
        self.number.store(number, Ordering::Relaxed);
        self.entries.store(entries.max(1), Ordering::Relaxed);
    }

    /// Its number among the host's queues.
    pub(super) fn number(&self) -> u16 {
        self.number.load(Ordering::Relaxed)
    }

    /// A command was taken from the host's queue; false if so many could not be in it.
    pub(super) fn take_command(&self) -> bool {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.outstanding.fetch_add(1, Ordering::Relaxed) < self.entries.load(Ordering::Relaxed)
    }

    /// So many commands will have no answer.
    pub(super) fn give_up(&self, commands: usize) {
        self.outstanding.fetch_sub(u32::try_from(commands).unwrap_or(0), Ordering::Relaxed);
    }

    /// Answer as soon as possible.
    pub(super) fn answer(&self, response: Response) {
        self.push(Instant::now(), None, response);
    }

    /// Answer an I/O that the drive got at one moment and has done at another.
    pub(super) fn answer_at(&self, at: Instant, begun: Instant, response: Response) {
        self.push(at, Some(begun), response);
    }

    /// Answer what no model times, at a moment.
    pub(super) fn answer_untimed(&self, at: Instant, response: Response) {
        self.push(at, None, response);
    }

    fn push(&self, at: Instant, begun: Option<Instant>, response: Response) {
        let mut pending = lock(&self.pending);
        if pending.is_closed {
            return;
        }
        pending.orders += 1;
        let order = pending.orders;
        let is_next = pending.heap.peek().is_none_or(|Reverse(first)| at < first.at);
        pending.heap.push(Reverse(Due { at, order, response, begun }));
        drop(pending);
        if is_next {
            self.changed.notify_one();
        }
    }

    /// Send bytes at once, between answers.
    pub(super) fn send(&self, bytes: &[u8]) {
        let sending = lock(&self.sending);
        let sent = send_in_time(&self.socket, bytes);
        drop(sending);
        if sent.is_err() {
            self.close();
        }
    }

    /// End the connection; answers that wait are dropped, and its reader finds the end.
    pub(super) fn close(&self) {
        // It may be gone already, which is what is wanted.
        let _ = self.socket.shutdown(Shutdown::Both);
        let mut pending = lock(&self.pending);
        pending.is_closed = true;
        pending.heap.clear();
        drop(pending);
        self.changed.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.pending).is_closed
    }

    /// Send answers when they are due, until the connection is closed.
    pub(super) fn run(&self) {
        // Where it can't be done, answers are later, and the figures say so.
        let _ = tighten_timers();
        let mut bytes = Vec::new();
        let mut due = Vec::new();
        while self.gather(&mut due) {
            for Due { response, .. } in &due {
                respond(&mut bytes, self.wire, response, self.head());
            }
            self.send(&bytes);
            let now = Instant::now();
            let mut figures = lock(&self.figures);
            for Due { at, begun, .. } in due.drain(..) {
                if let Some(begun) = begun {
                    figures.count(at - begun, now.saturating_duration_since(at));
                }
            }
            drop(figures);
            bytes.clear();
        }
    }

    /// Where the host's queue is read next.
    fn head(&self) -> u16 {
        let head = self.taken.load(Ordering::Relaxed) % self.entries.load(Ordering::Relaxed);
        u16::try_from(head).unwrap_or(0)
    }

    /// Wait for what is due next; false when the connection is closed. Nothing is encoded meanwhile: who has
    /// another answer waits for the lock, with the drive in its hands.
    fn gather(&self, due: &mut Vec<Due>) -> bool {
        let mut pending = lock(&self.pending);
        loop {
            if pending.is_closed {
                return false;
            }
            let now = Instant::now();
            let mut bytes = 0;
            while bytes < BATCH_BYTES
                && let Some(Reverse(first)) = pending.heap.peek()
                && first.at <= now
                && let Some(Reverse(next)) = pending.heap.pop()
            {
                // Before it is sent: then the host may send another.
                self.outstanding.fetch_sub(1, Ordering::Relaxed);
                bytes += next.response.data.len();
                due.push(next);
            }
            if !due.is_empty() {
                return true;
            }
            let next = pending.heap.peek().map(|Reverse(first)| first.at);
            pending = match next {
                Some(at) => {
                    let wait = at.saturating_duration_since(now);
                    self.changed.wait_timeout(pending, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(pending).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Send all, or fail: where nothing goes out for so long, and where a host that reads drop by drop takes longer.
fn send_in_time(mut socket: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + SENDING;
    let mut left = bytes;
    while !left.is_empty() {
        match socket.write(left) {
            Ok(sent) => left = &left[sent..],
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if !left.is_empty() && Instant::now() >= until {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}
