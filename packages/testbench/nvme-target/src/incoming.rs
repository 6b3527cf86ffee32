//! What a host sends, as long as it sends in time.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::controller::Controller;

/// The shortest time-out of a read: none at all would be for ever.
const SHORTEST: Duration = Duration::from_millis(1);

/// A socket that is read until a deadline. The deadline is that of a whole PDU, or of a whole handshake: bytes
/// that trickle in do not move it.
#[derive(Debug)]
pub(super) struct Incoming {
    socket: Arc<TcpStream>,
    until: Option<Instant>,
    /// Whether reads of the socket end by themselves.
    is_timed: bool,
    /// Who set the deadline by its promise to speak, and may need none meanwhile.
    controller: Option<Arc<Controller>>,
}

impl Incoming {
    pub(super) fn new(socket: Arc<TcpStream>, until: Instant) -> Self {
        Self { socket, until: Some(until), is_timed: false, controller: None }
    }

    /// The next PDU of an admin queue comes as soon as its host has promised.
    pub(super) fn expect_from(&mut self, controller: &Arc<Controller>) {
        self.until = controller.patience().map(|patience| Instant::now() + patience);
        self.controller.get_or_insert_with(|| Arc::clone(controller));
    }

    /// The next PDU may come at any time.
    pub(super) fn expect_nothing(&mut self) {
        self.until = None;
    }

    /// The connection ends so soon, or as soon as was said before.
    pub(super) fn expect_end(&mut self, within: Duration) {
        let latest = Instant::now() + within;
        self.until = Some(self.until.map_or(latest, |until| until.min(latest)));
        self.controller = None;
    }

    /// Whether the host is late. One that promised nothing is not once it has I/O queues, which come later.
    fn is_late(&mut self) -> bool {
        let Some(until) = self.until else { return false };
        if self.controller.as_ref().is_some_and(|controller| controller.patience().is_none()) {
            self.until = None;
        }
        self.until.is_some() && Instant::now() >= until
    }
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_late() {
                return Err(ErrorKind::TimedOut.into());
            }
            if self.is_timed || self.until.is_some() {
                let left = |until: Instant| until.saturating_duration_since(Instant::now()).max(SHORTEST);
                self.socket.set_read_timeout(self.until.map(left))?;
                self.is_timed = self.until.is_some();
            }
            match (&*self.socket).read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}
