//! Programs for the nominal drive as programs for the simulated one.

use openpts_core::workload::{Bounds, Limits, Pacing, Placement, Step, Stimulus, Stop, Stream};

use crate::drive::PAGE_BYTES;
use crate::scale::Scale;
use crate::time::Ps;

/// A step, with its times as exact as virtual time has them.
#[derive(Clone, Debug)]
pub(super) struct ScaledStep {
    /// What the streams need. Its times are rounded to whole nanoseconds; those below hold.
    pub(super) step: Step,
    pub(super) ramp_ps: Ps,
    pub(super) duration_ps: Option<Ps>,
    pub(super) at_least_ps: Ps,
    /// The duration as it was asked for.
    pub(super) duration_ns: Option<u64>,
    /// Of each stream.
    pub(super) streams: Vec<StreamTimes>,
}

/// The times of one stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamTimes {
    pub(super) delay_ps: Ps,
    pub(super) duration_ps: Option<Ps>,
    /// The duration as it was asked for.
    pub(super) duration_ns: Option<u64>,
}

/// From nominal to simulated quantities.
#[derive(Clone, Copy, Debug)]
pub(super) struct Down {
    scale: Scale,
    nominal_capacity_bytes: u64,
    capacity_bytes: u64,
    unit_bytes: u64,
    sector_bytes: u32,
}

impl Down {
    /// For a drive of which these are the nominal limits.
    pub(super) fn new(limits: &Limits, scale: Scale) -> Self {
        let sector = u64::from(limits.sector_bytes);
        Self {
            scale,
            nominal_capacity_bytes: limits.capacity_bytes,
            capacity_bytes: limits.capacity_bytes / u64::from(scale.factor()),
            // What ranges begin and end at, where the nominal ones do.
            unit_bytes: if PAGE_BYTES.is_multiple_of(sector) { PAGE_BYTES } else { sector },
            sector_bytes: limits.sector_bytes,
        }
    }

    /// The limits of the simulated drive.
    pub(super) fn limits(&self, nominal: &Limits) -> Limits {
        Limits { capacity_bytes: self.capacity_bytes, ..*nominal }
    }

    /// A step in the simulated drive's quantities. Macro quantities (ranges, amounts, numbers of I/Os, sizes
    /// of segments, times of steps and duty cycles) are divided; micro ones (sizes and distances of accesses,
    /// rates, bursts, batches, think times) are kept.
    pub(super) fn step(&self, nominal: &Step) -> ScaledStep {
        let stop = &nominal.stop;
        let at_least_once = |ps: Ps| ps.max(1);
        ScaledStep {
            step: Step {
                streams: nominal.streams.iter().map(|stream| self.stream(stream)).collect(),
                stop: self.stop(nominal),
                ramp_ns: self.time_ns(nominal.ramp_ns),
                capture: nominal.capture,
            },
            ramp_ps: self.scale.virtual_ps(nominal.ramp_ns).max(u64::from(nominal.ramp_ns > 0)),
            duration_ps: stop.duration_ns.map(|ns| at_least_once(self.scale.virtual_ps(ns))),
            at_least_ps: self.scale.virtual_ps(stop.at_least_ns),
            duration_ns: stop.duration_ns,
            streams: nominal
                .streams
                .iter()
                .map(|Stream { delay_ns, bounds: Bounds { duration_ns, .. }, .. }| StreamTimes {
                    delay_ps: self.scale.virtual_ps(*delay_ns),
                    duration_ps: duration_ns.map(|ns| at_least_once(self.scale.virtual_ps(ns))),
                    duration_ns: *duration_ns,
                })
                .collect(),
        }
    }

    fn stream(&self, nominal: &Stream) -> Stream {
        let Bounds { duration_ns, amount_bytes, ios } = nominal.bounds;
        Stream {
            stimulus: self.stimulus(&nominal.stimulus),
            delay_ns: self.time_ns(nominal.delay_ns),
            bounds: Bounds {
                duration_ns: duration_ns.map(|ns| self.time_ns(ns)),
                amount_bytes: amount_bytes.map(|amount| self.amount(amount, &nominal.stimulus)),
                ios: ios.map(|ios| self.count(ios)),
            },
            priority: nominal.priority,
            share: nominal.share,
            replay: nominal.replay.clone(),
        }
    }

    fn stop(&self, step: &Step) -> Stop {
        let stop = &step.stop;
        Stop {
            duration_ns: stop.duration_ns.map(|ns| self.time_ns(ns)),
            amount_bytes: stop.amount_bytes.map(|amount| match step.only_stimulus() {
                Some(stimulus) => self.amount(amount, stimulus),
                None => amount,
            }),
            ios: stop.ios.map(|ios| self.count(ios)),
            at_least_ns: self.time_ns(stop.at_least_ns),
            steady: stop.steady,
        }
    }

    fn stimulus(&self, nominal: &Stimulus) -> Stimulus {
        Stimulus {
            range_start_bytes: self.place(nominal.range_start_bytes),
            range_end_bytes: self.place(nominal.range_end_bytes),
            placement: self.placement(nominal),
            pacing: match nominal.pacing {
                Pacing::DutyCycle { on_ns, off_ns } => {
                    Pacing::DutyCycle { on_ns: self.time_ns(on_ns), off_ns: self.time_ns(off_ns) }
                }
                pacing => pacing,
            },
            ..nominal.clone()
        }
    }

    fn placement(&self, nominal: &Stimulus) -> Placement {
        match nominal.placement {
            Placement::Segments { count, bytes } => self.segments(nominal, count, bytes),
            Placement::UniqueLbas { bytes } => {
                let largest = u64::from(nominal.largest_block_bytes());
                Placement::UniqueLbas { bytes: self.share(bytes, nominal).max(largest) }
            }
            // Zones and hot spots are shares of the range.
            ref placement => placement.clone(),
        }
    }

    /// As many segments, each so much smaller; fewer of them, where one would not hold a transfer any more.
    fn segments(&self, nominal: &Stimulus, count: u32, bytes: u64) -> Placement {
        let alignment = nominal.alignment_of(nominal.largest_block_bytes(), self.sector_bytes);
        let smallest = u64::from(nominal.largest_block_bytes()).next_multiple_of(alignment);
        let wanted = bytes / u64::from(self.scale.factor());
        let scaled = (wanted - wanted % alignment).max(smallest).min(bytes);
        let total = u128::from(count) * u128::from(wanted);
        let count = u32::try_from(total / u128::from(scaled)).unwrap_or(count).clamp(1, count);
        Placement::Segments { count, bytes: scaled }
    }

    /// An edge of a range: neighbors stay neighbors, and the end of the drive stays its end.
    fn place(&self, nominal: u64) -> u64 {
        if nominal >= self.nominal_capacity_bytes {
            return self.capacity_bytes;
        }
        if self.scale == Scale::ONE {
            return nominal;
        }
        let place = nominal / u64::from(self.scale.factor());
        place - place % self.unit_bytes
    }

    /// Bytes in proportion to the range as it came out, so that whole passes over it stay whole.
    fn amount(&self, nominal: u64, stimulus: &Stimulus) -> u64 {
        self.share(nominal, stimulus).max(1)
    }

    fn share(&self, bytes: u64, stimulus: &Stimulus) -> u64 {
        let (start, end) = (stimulus.range_start_bytes, stimulus.range_end_bytes);
        let scaled = u128::from(self.place(end) - self.place(start));
        let share = u128::from(bytes) * scaled / u128::from(end - start);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// A number of I/Os, to the nearest, but not none.
    fn count(&self, nominal: u64) -> u64 {
        let factor = u64::from(self.scale.factor());
        (nominal / factor + u64::from(nominal % factor >= factor.div_ceil(2))).max(1)
    }

    /// A macro time in whole nanoseconds, of which there is at least one where there was any.
    fn time_ns(&self, nominal_ns: u64) -> u64 {
        (nominal_ns / u64::from(self.scale.factor())).max(u64::from(nominal_ns > 0))
    }
}
