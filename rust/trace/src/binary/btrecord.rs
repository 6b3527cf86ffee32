//! What btrecord makes of blktrace for btreplay: bunches of I/Os, of which each has one time.

use super::super::error::TraceError;
use super::super::formats::{Format, Opened, ReadOptions};
use super::super::reader::{BATCH_IOS, Level, SourceFacts, TraceReader, TracedDevice};
use super::super::source::Source;
use super::super::tally::{Place, Tally};
use super::super::traced_io::{Quality, TracedIo, TracedOperation};
use super::filling::fill;

pub(super) const FORMAT: Format = Format {
    name: "btrecord",
    label: "bunches of btrecord for btreplay (DEVICE.replay.CPU)",
    is_at_head: |head| Header::new(head).is_some(),
    open,
};

const HEADER_BYTES: usize = 32;
const BUNCH_BYTES: usize = 16;
const PACKET_BYTES: usize = 24;
/// I/Os of a bunch at most, as btreplay has it.
const MOST_PACKETS: u64 = 512;
/// A bunch ends after so long, unless it was recorded otherwise.
const BUNCH_NS: u64 = 10_000_000;

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

struct Header {
    bunches: u64,
    packets: u64,
}

impl Header {
    fn new(head: &[u8]) -> Option<Self> {
        if head.len() < HEADER_BYTES + BUNCH_BYTES {
            return None;
        }
        // Major, minor and fix level of the version, from the highest byte down; the rest is 0.
        let version = long(head, 0);
        let (bunches, packets) = (long(head, 16), long(head, 24));
        let is_sound = version != 0
            && version >> 24 == 0
            && bunches > 0
            && packets >= bunches
            && packets / MOST_PACKETS <= bunches
            && (1..=MOST_PACKETS).contains(&long(head, HEADER_BYTES));
        let is_packet = head.len() < HEADER_BYTES + BUNCH_BYTES + PACKET_BYTES
            || matches!(long(head, HEADER_BYTES + BUNCH_BYTES + 16) & 0xffff_ffff, 0 | 1);
        (is_sound && is_packet).then_some(Self { bunches, packets })
    }
}

/// What is left of the file that is being read.
struct File {
    bunches: u64,
    packets: u64,
}

struct BtrecordReader {
    /// One for each processor; they are merged by their times.
    sources: Vec<Source>,
    files: Vec<Option<File>>,
    offsets: Vec<u64>,
    /// The next bunch of each file.
    heads: Vec<Option<Bunch>>,
    is_open: bool,
    file: usize,
}

struct Bunch {
    time_ns: i64,
    ios: Vec<TracedIo>,
}

fn open(sources: Vec<Source>, _: &ReadOptions) -> Opened {
    let count = sources.len();
    Ok(Box::new(BtrecordReader {
        sources,
        files: std::iter::repeat_with(|| None).take(count).collect(),
        offsets: vec![0; count],
        heads: std::iter::repeat_with(|| None).take(count).collect(),
        is_open: false,
        file: 0,
    }))
}

impl BtrecordReader {
    /// The next bytes of a file; fewer if it ends.
    fn bytes(&mut self, number: usize, length: usize) -> Result<Vec<u8>, TraceError> {
        let source = &mut self.sources[number];
        let mut bytes = vec![0; length];
        let filled = fill(&mut *source.bytes, &mut bytes)
            .map_err(|error| TraceError::File { path: source.path.clone(), source: error })?;
        bytes.truncate(filled);
        self.offsets[number] += filled as u64;
        Ok(bytes)
    }

    fn begin(&mut self, number: usize) -> Result<(), TraceError> {
        let source = &mut self.sources[number];
        let failed = |error| TraceError::File { path: source.path.clone(), source: error };
        let header = Header::new(source.bytes.fill_buf().map_err(failed)?).ok_or_else(|| {
            TraceError::Refused(format!("can't read {}: it is not of btrecord", source.path.display()))
        })?;
        self.bytes(number, HEADER_BYTES)?;
        self.files[number] = Some(File { bunches: header.bunches, packets: header.packets });
        Ok(())
    }

    /// Read a file's next bunch, if it has one.
    fn advance(&mut self, number: usize, tally: &mut Tally) -> Result<(), TraceError> {
        let Some(file) = self.files[number].take() else { return Ok(()) };
        if file.bunches == 0 {
            if file.packets > 0 {
                tally.damage(number, Place::Byte(self.offsets[number]), "fewer packets than the header says");
            }
            return Ok(());
        }
        let place = Place::Byte(self.offsets[number]);
        let header = self.bytes(number, BUNCH_BYTES)?;
        if header.len() < BUNCH_BYTES {
            tally.damage(number, place, "bunch that is cut off");
            return Ok(());
        }
        let (packets, time_ns) = (long(&header, 0), long(&header, 8));
        let time_ns = match i64::try_from(time_ns) {
            Ok(time_ns) if (1..=MOST_PACKETS).contains(&packets) => time_ns,
            _ => {
                // Without its number of packets the next bunch can't be found.
                tally.damage(number, place, "bunch with an impossible number of packets or time");
                return Ok(());
            }
        };
        let begin = self.offsets[number];
        let bytes = self.bytes(number, packets as usize * PACKET_BYTES)?;
        let whole = bytes.chunks_exact(PACKET_BYTES);
        let is_cut = whole.len() < packets as usize;
        let mut ios = Vec::new();
        for (index, packet) in whole.enumerate() {
            let offset = begin + (index * PACKET_BYTES) as u64;
            match io_of(packet, time_ns, offset) {
                Ok(io) => {
                    tally.accept();
                    ios.push(io);
                }
                Err(class) => tally.damage(number, Place::Byte(offset), class),
            }
        }
        if is_cut {
            tally.damage(number, Place::Byte(self.offsets[number]), "packets that are cut off");
        } else {
            let rest = File { bunches: file.bunches - 1, packets: file.packets.saturating_sub(packets) };
            self.files[number] = Some(rest);
        }
        self.heads[number] = Some(Bunch { time_ns, ios });
        Ok(())
    }
}

fn io_of(packet: &[u8], time_ns: i64, offset: u64) -> Result<TracedIo, &'static str> {
    let operation = match u32::from_le_bytes(std::array::from_fn(|byte| packet[16 + byte])) {
        0 => TracedOperation::Write,
        1 => TracedOperation::Read,
        _ => return Err("direction that is neither read nor write"),
    };
    let offset_bytes = long(packet, 0).checked_mul(512).ok_or("sector out of range")?;
    let mut io = TracedIo::new(time_ns, operation, offset_bytes, long(packet, 8), offset);
    io.quality = Quality::TIME_SYNTHETIC;
    Ok(io)
}

impl TraceReader for BtrecordReader {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        if !self.is_open {
            self.is_open = true;
            for number in 0..self.sources.len() {
                self.begin(number)?;
                self.advance(number, tally)?;
            }
        }
        let end = batch.len() + BATCH_IOS;
        while batch.len() < end {
            let times = self.heads.iter().enumerate();
            let next = times.filter_map(|(number, head)| Some((head.as_ref()?.time_ns, number))).min();
            let Some((_, number)) = next else { return Ok(false) };
            self.file = number;
            if let Some(mut bunch) = self.heads[number].take() {
                batch.append(&mut bunch.ios);
            }
            self.advance(number, tally)?;
        }
        Ok(true)
    }

    /// The I/Os of a bunch share its time: they count as issued by a clock as coarse as bunches are long.
    fn facts(&self) -> SourceFacts {
        SourceFacts {
            format: FORMAT.name,
            level: Level::Issue,
            resolution_ns: BUNCH_NS,
            epoch_ns: None,
            has_completions: false,
            has_issue_times: true,
            devices: vec![TracedDevice {
                name: "device".into(),
                capacity_bytes: None,
                sector_bytes: Some(512),
            }],
            commands: vec![String::new()],
        }
    }

    fn current_file(&self) -> usize {
        self.file
    }

    fn place(&self, source_position: u64) -> Place {
        Place::Byte(source_position)
    }
}
