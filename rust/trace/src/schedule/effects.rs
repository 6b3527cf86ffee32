//! What a mapping does to a trace, measured: the same figures before and after it.

use super::footprint::Footprint;

/// Figures of a sequence of I/Os with their places.
#[derive(Debug)]
pub(super) struct Figures {
    footprint: Footprint,
    flying: Vec<(u64, u64, u64, bool)>,
    before: Option<u64>,
    ios: u64,
    sequential: u64,
    overlaps: u64,
}

/// The same, once the sequence is over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effects {
    /// Share of reads and writes that begin where the one before them ended, in per cent.
    pub sequential_pct: f64,
    /// Pairs of overlapping I/Os that were in flight together, one of which changes data.
    pub overlaps: u64,
    /// Bytes that are read or written at least once, in granules.
    pub footprint_bytes: u64,
}

impl Figures {
    pub(super) fn new(granule_bytes: u64) -> Self {
        Self {
            footprint: Footprint::new(granule_bytes),
            flying: Vec::new(),
            before: None,
            ios: 0,
            sequential: 0,
            overlaps: 0,
        }
    }

    /// The next I/O: when it was issued and answered, if that is known, where it is and whether it changes data.
    pub(super) fn add(&mut self, now_ns: u64, done_ns: Option<u64>, places: &[(u64, u64)], changes: bool) {
        self.flying.retain(|(done_ns, ..)| *done_ns > now_ns);
        let Some(((start, _), (_, end))) = places.first().zip(places.last()) else { return };
        self.ios += 1;
        self.sequential += u64::from(self.before == Some(*start));
        self.before = Some(*end);
        for (start, end) in places {
            self.footprint.touch(*start, *end);
            let pairs = self.flying.iter().filter(|(_, other_start, other_end, other_changes)| {
                (changes || *other_changes) && other_start < end && start < other_end
            });
            self.overlaps += pairs.count() as u64;
        }
        if let Some(done_ns) = done_ns {
            self.flying.extend(places.iter().map(|(start, end)| (done_ns, *start, *end, changes)));
        }
    }

    pub(super) fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    pub(super) fn effects(&self) -> Effects {
        Effects {
            sequential_pct: 100.0 * self.sequential as f64 / self.ios.max(1) as f64,
            overlaps: self.overlaps,
            footprint_bytes: self.footprint.bytes(),
        }
    }
}
