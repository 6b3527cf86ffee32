//! A capture of this machine while it goes on: what the kernel hands out becomes events, these in the order of their
//! times I/Os, and these at once a file.

mod order;
mod pages;
mod places;
mod relay;
mod sink;
mod tracepoints;

pub use order::{LiveDevice, LiveEnd, LiveOrder, LiveSummary, Way};

use super::block_event::BlockEvent;
use super::error::TraceError;
use super::pairing::Pairing;
use super::tally::{Loss, Tally};
use super::traced_io::{Status, TracedIo};
use places::Places;
use relay::Relay;
use sink::Sink;
use tracepoints::Tracepoints;

enum Decoder {
    Relay(Relay),
    Tracepoints(Tracepoints),
}

/// One capture, from its order to its file.
pub struct LiveCapture {
    decoder: Decoder,
    places: Places,
    start_ns: i64,
    with_names: bool,
    /// Events that may be followed by earlier ones of other processors.
    pending: Vec<BlockEvent>,
    last_ns: i64,
    pairing: Pairing,
    ios: Vec<TracedIo>,
    tally: Tally,
    sink: Sink,
    summary: LiveSummary,
}

impl LiveCapture {
    /// Begin a capture and its file.
    ///
    /// # Errors
    /// If the file can't be made, or the kernel's description of its events is none.
    pub fn new(order: LiveOrder) -> Result<Self, TraceError> {
        let mut places = Places::new(&order.devices);
        let decoder = match &order.way {
            Way::Blktrace => Decoder::Relay(Relay::new(&mut places)),
            Way::Tracefs { header_page, formats } => {
                Decoder::Tracepoints(Tracepoints::new(header_page, formats, &mut places)?)
            }
        };
        Ok(Self {
            decoder,
            start_ns: order.start_ns,
            with_names: order.with_names,
            pending: Vec::new(),
            last_ns: order.start_ns,
            pairing: Pairing::in_order(order.level),
            ios: Vec::new(),
            tally: Tally::default(),
            sink: Sink::new(&order)?,
            places,
            summary: LiveSummary::default(),
        })
    }

    /// What a processor's buffer held: bytes of a relay file, or whole pages of a trace buffer.
    ///
    /// # Errors
    /// If the kernel writes its records in another way than was asked for.
    pub fn feed(&mut self, processor: usize, bytes: &[u8]) -> Result<(), TraceError> {
        let (places, events, tally) = (&self.places, &mut self.pending, &mut self.tally);
        match &mut self.decoder {
            Decoder::Relay(relay) => relay.feed(processor, bytes, places, events, tally)?,
            Decoder::Tracepoints(tracepoints) => tracepoints.feed(processor, bytes, places, events, tally),
        }
        Ok(())
    }

    /// No event before this moment will come any more.
    ///
    /// # Errors
    /// If the file takes no more.
    pub fn advance(&mut self, until_ns: i64) -> Result<(), TraceError> {
        self.pending.sort_by_key(|event| (event.time_ns, event.cpu));
        let ready = self.pending.partition_point(|event| event.time_ns < until_ns);
        let later = self.pending.split_off(ready);
        for mut event in std::mem::replace(&mut self.pending, later) {
            if event.time_ns < self.last_ns {
                self.tally.note("handed out after later ones");
                event.time_ns = self.last_ns;
            }
            self.last_ns = event.time_ns;
            if !self.with_names {
                event.command = 0;
            }
            self.pairing.event(&event, &mut self.ios, &mut self.tally);
        }
        if until_ns < i64::MAX {
            self.last_ns = self.last_ns.max(until_ns);
        }
        self.put_down()
    }

    /// The kernel says that it had no room for some events.
    pub fn lose(&mut self, loss: Loss) {
        self.tally.lose(loss);
    }

    /// Names of processes so far, in the order of their numbers.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        if !self.with_names {
            return vec![String::new()];
        }
        match &self.decoder {
            Decoder::Relay(relay) => relay.commands().to_vec(),
            Decoder::Tracepoints(tracepoints) => tracepoints.commands().to_vec(),
        }
    }

    /// What there is so far.
    #[must_use]
    pub fn summary(&self) -> LiveSummary {
        let began_before =
            |(reason, count): (&&str, &u64)| reason.ends_with("not seen to begin").then_some(*count);
        LiveSummary {
            in_flight: self.pairing.in_flight() as u64,
            began_before: self.tally.skipped.iter().filter_map(began_before).sum(),
            lost: self.tally.lost,
            damaged: self.tally.damaged_total(),
            ..self.summary
        }
    }

    /// End the capture and its file.
    ///
    /// # Errors
    /// If the file can't be completed.
    pub fn finish(mut self, end: LiveEnd) -> Result<LiveSummary, TraceError> {
        self.advance(i64::MAX)?;
        let in_flight = self.pairing.in_flight() as u64;
        let mut left = std::mem::take(&mut self.ios);
        self.pairing.end(&mut left, &mut self.tally);
        self.ios = left;
        self.put_down()?;
        let summary = LiveSummary { in_flight, ..self.summary() };
        let level = self.pairing.level();
        let file_bytes = self.sink.finish(level, &end, &self.tally)?;
        Ok(LiveSummary { file_bytes, ..summary })
    }

    /// I/Os that are whole go to the file.
    fn put_down(&mut self) -> Result<(), TraceError> {
        let (places, start_ns) = (&self.places, self.start_ns);
        self.ios.retain_mut(|io| places.put(io));
        for io in &mut self.ios {
            io.issued_ns -= start_ns;
            io.completed_ns = io.completed_ns.map(|time_ns| time_ns - start_ns);
            self.summary.ios += 1;
            self.summary.bytes += if io.operation.transfers() { io.length_bytes } else { 0 };
            self.summary.failed += u64::from(matches!(io.status, Status::Failed(_)));
        }
        self.sink.push(&self.ios)?;
        self.ios.clear();
        Ok(())
    }
}
