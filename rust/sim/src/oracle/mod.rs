//! A drive that follows a script: ground truth for the tool, not a model of flash.
//!
//! One server does the reads and writes in their order: each takes the time that the rate script, or the
//! recovery or idle script in its place, gives it, and none begins before the one before is done. So the rate
//! is exactly that of the script as soon as one I/O waits, at any demand. With a latency law, an I/O is
//! answered exactly that long after its service began; the rate is then a cap that an I/O may have to wait
//! for, and with a rate of infinity latencies are those of the law at any demand, and the rate follows.
//! Trims and flushes take no time of their own, but wait for what was served before; trims may be given
//! times, and then wait for each other, and for reads and writes only if these wait for them.

mod failures;
mod idle;
mod latency;
mod outliers;
mod pace;
mod rate;
mod recovery;
mod stalls;
mod trims;

use openpts_core::workload::{Io, Operation};

use failures::Failures;
use idle::IdleScript;
use latency::LatencyLaw;
use outliers::Outliers;
use pace::Bandwidth;
use rate::RateScript;
use recovery::RecoveryScript;
use stalls::Stalls;
use trims::TrimTimes;

use super::drive::{Answer, Completion, Drive, PAGE_BYTES, Refusal};
use super::host_counters::HostCounters;
use super::preset::{Oracle, Preset, PresetError, Purge};
use super::scale::Scale;
use super::smart::{NandPages, Smart};
use super::time::{NEVER, Ps};

/// A drive that follows a script.
pub struct OracleDrive {
    capacity_bytes: u64,
    sector_bytes: u32,
    purge: Purge,
    purge_ps: Ps,
    write_cache: Option<bool>,
    temperature_c: Option<i32>,
    wrap_bytes: Option<u64>,
    rate: RateScript,
    bandwidth: Option<Bandwidth>,
    latency: Option<LatencyLaw>,
    outliers: Outliers,
    recovery: Option<RecoveryScript>,
    stalls: Stalls,
    trims: Option<TrimTimes>,
    idle: IdleScript,
    failures: Failures,
    host: HostCounters,
    free_ps: Ps,
    /// End of the last I/O since the last purge; none has idle time before it until there is one.
    idle_from_ps: Ps,
    written_bytes: u64,
    /// Steps with I/O since the last purge, and whether the next I/O begins one.
    steps: u64,
    is_new_step: bool,
}

impl OracleDrive {
    /// A drive of so many bytes, at the beginning of its script.
    ///
    /// # Errors
    /// If the capacity is not a whole number of sectors, at least one.
    pub fn new(
        preset: &Preset,
        oracle: &Oracle,
        capacity_bytes: u64,
        scale: Scale,
    ) -> Result<Self, PresetError> {
        if capacity_bytes == 0 || !capacity_bytes.is_multiple_of(preset.sector_bytes.into()) {
            return Err(PresetError(format!(
                "a capacity of {capacity_bytes} bytes is not a whole number of sectors of {}",
                preset.sector_bytes
            )));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
        let purge_ns = (oracle.purge_s * 1e9).round() as u64;
        Ok(Self {
            capacity_bytes,
            sector_bytes: preset.sector_bytes,
            purge: preset.purge,
            purge_ps: scale.virtual_ps(purge_ns),
            write_cache: oracle.write_cache,
            temperature_c: oracle.temperature_c,
            wrap_bytes: oracle.host_write_bytes_wrap.map(|bytes| bytes.div_ceil(scale.factor().into())),
            rate: RateScript::new(&oracle.rate, scale),
            bandwidth: oracle.rate.bytes_per_s.map(Bandwidth::new),
            latency: oracle.latency.as_ref().map(LatencyLaw::new),
            outliers: Outliers::new(&oracle.outliers, scale),
            recovery: oracle.recovery.as_ref().map(|recovery| RecoveryScript::new(recovery, scale)),
            stalls: Stalls::new(&oracle.stalls, scale),
            trims: oracle.trims.as_ref().map(TrimTimes::new),
            idle: IdleScript::new(&oracle.idle, scale),
            failures: Failures::new(&oracle.errors, preset.sector_bytes, scale),
            host: HostCounters::default(),
            free_ps: 0,
            idle_from_ps: NEVER,
            written_bytes: 0,
            steps: 0,
            is_new_step: false,
        })
    }

    fn begin_script(&mut self, at_ps: Ps) {
        self.rate.begin(at_ps);
        if let Some(latency) = &mut self.latency {
            latency.begin();
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.begin();
        }
        self.outliers.begin();
        self.idle.begin();
        self.free_ps = at_ps;
        if let Some(trims) = &mut self.trims {
            trims.free_ps = at_ps;
        }
        self.idle_from_ps = NEVER;
        (self.written_bytes, self.steps, self.is_new_step) = (0, 0, false);
    }

    /// The first I/O of a step.
    #[cold]
    fn enter_step(&mut self) {
        self.is_new_step = false;
        self.rate.step(self.steps);
        self.outliers.step(self.steps);
        self.steps += 1;
    }

    /// How long the server needs for a read or write that may begin at a moment.
    #[inline]
    fn service_ps(&mut self, io: &Io, idle_ps: Ps, start_ps: Ps) -> Ps {
        if io.operation == Operation::Write
            && let Some(recovery) = &mut self.recovery
            && let Some(ps) = recovery.write_ps(io.length_bytes)
        {
            return ps;
        }
        let scripted = self.rate.pace(self.written_bytes, start_ps);
        let pace = self.idle.pace(idle_ps).unwrap_or(scripted);
        if let Some(bandwidth) = &mut self.bandwidth
            && bandwidth.is_slower_than(pace, io.length_bytes)
        {
            return bandwidth.next_ps(io.length_bytes);
        }
        pace.next_ps()
    }

    /// When all that was served before is done.
    fn wait(&mut self, now_ps: Ps) -> Ps {
        self.stalls.end_of_work(self.free_ps.max(now_ps), 0)
    }

    /// When a trim is done.
    fn trim(&mut self, io: &Io, now_ps: Ps) -> Ps {
        let Some(trims) = &mut self.trims else { return self.wait(now_ps) };
        let service_ps = trims.service_ps(io.length_bytes);
        let free_ps = if trims.blocks { &mut self.free_ps } else { &mut trims.free_ps };
        *free_ps = self.stalls.interrupted((*free_ps).max(now_ps), service_ps);
        *free_ps
    }

    #[inline]
    fn serve(&mut self, io: &Io, now_ps: Ps) -> Completion {
        if self.is_new_step {
            self.enter_step();
        }
        let start_ps = self.free_ps.max(now_ps);
        let service_ps = self.service_ps(io, now_ps.saturating_sub(self.idle_from_ps), start_ps);
        self.free_ps = self.stalls.end_of_work(start_ps, service_ps);
        let mut at_ps = match &mut self.latency {
            Some(law) => self.stalls.end_of_work(start_ps, law.next_ps()),
            None => self.free_ps,
        };
        if let Some(latency_ps) = self.outliers.next_ps() {
            at_ps = now_ps + latency_ps;
        }
        let error = self.failures.error(io, self.host.write_bytes);
        if error.is_none() {
            self.host.count(io);
            if io.operation == Operation::Write {
                self.written_bytes += u64::from(io.length_bytes);
            }
        }
        Completion { at_ps, error }
    }
}

impl Drive for OracleDrive {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn begin_step(&mut self, _entropy: f64, _now_ps: Ps) {
        self.is_new_step = true;
    }

    #[inline]
    fn submit(&mut self, io: &Io, _tag: u32, now_ps: Ps) -> Answer {
        let completion = match io.operation {
            Operation::Read | Operation::Write => self.serve(io, now_ps),
            Operation::Trim => Completion { at_ps: self.trim(io, now_ps), error: None },
            Operation::Flush | Operation::Fsync => Completion { at_ps: self.wait(now_ps), error: None },
        };
        self.host.occupy(now_ps, completion.at_ps);
        self.idle_from_ps = self.host.busy_until_ps();
        Answer::Known(completion)
    }

    fn next_answer_ps(&self) -> Ps {
        NEVER
    }

    fn answer_until(&mut self, _now_ps: Ps, _answered: &mut Vec<(u32, Completion)>) {}

    fn idle_until(&mut self, _until_ps: Ps) {}

    fn purge(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        let end_ps = self.free_ps.max(now_ps) + self.purge_ps;
        match self.purge {
            Purge::Absent => return Err(Refusal("the drive has no purge".into())),
            Purge::Fails => return Err(Refusal("the drive reports that its purge has failed".into())),
            Purge::Lies => self.free_ps = end_ps,
            Purge::Works => self.begin_script(end_ps),
        }
        Ok(end_ps)
    }

    fn write_cache(&self) -> Option<bool> {
        self.write_cache
    }

    fn set_write_cache(&mut self, enabled: bool, _now_ps: Ps) -> Result<(), Refusal> {
        let cache = self.write_cache.as_mut();
        *cache.ok_or_else(|| Refusal("the drive has no volatile write cache".into()))? = enabled;
        Ok(())
    }

    fn flush_caches(&mut self, _now_ps: Ps) -> Result<Ps, Refusal> {
        Err(Refusal("a drive that follows a script has no cache to fold".into()))
    }

    fn jump_start(&mut self) -> Result<(), Refusal> {
        Err(Refusal("a drive that follows a script has no steady state to jump to".into()))
    }

    fn is_read_only(&self) -> bool {
        self.failures.is_read_only(self.host.write_bytes)
    }

    fn smart(&self) -> Smart {
        let pages = self.written_bytes.div_ceil(PAGE_BYTES);
        let mut smart = Smart {
            nand_pages: NandPages::default(),
            available_spare_pct: 100.0,
            read_only: self.is_read_only(),
            media_errors: self.failures.media_errors(),
            temperature_c: self.temperature_c,
            mapped_pages: pages.min(self.capacity_bytes.div_ceil(PAGE_BYTES)),
            ..Smart::default()
        };
        self.host.report(&mut smart);
        if let Some(wrap_bytes) = self.wrap_bytes {
            smart.host_write_bytes %= wrap_bytes;
        }
        smart
    }
}

#[cfg(test)]
mod tests;
