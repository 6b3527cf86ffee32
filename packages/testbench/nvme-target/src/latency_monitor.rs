//! The latency monitor: slow commands counted by the drive itself, from their fetch to their completion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::command::Status;
use super::declared::{Filled, declared};

const BUCKETS: usize = 4;
const OPERATIONS: [&str; 3] = ["read", "write", "deallocate"];
/// A step of the timer of the buckets, and the steps at which it saturates.
const TIMER_STEP: Duration = Duration::from_secs(300);
const TIMER_STEPS: u32 = 0xFFFF;
const NO_STAMP: u64 = u64::MAX;
/// Commands that may be done and not counted yet.
const MOST_PENDING: usize = 1024;
/// Of a stamp: the host has set the clock.
const ORIGIN_HOST: u64 = 1 << 49;
const DEBUG_LOG_PAGE: i128 = 0xCA;
const DISCARD_ONLY: i128 = 2;

/// What is counted, by its place in the bit fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Counted {
    Read,
    Write,
    Deallocate,
}

/// What the host sets.
#[derive(Clone, Copy, Debug)]
struct Settings {
    is_enabled: bool,
    timer_threshold_min: i128,
    thresholds_ms: [i128; BUCKETS],
    /// By operation and bucket: whether the largest latency is kept, else the first; and which trigger a log.
    keeps_largest: [[bool; BUCKETS]; 3],
    triggers: [[bool; BUCKETS]; 3],
    window_ms: i128,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_enabled: true,
            timer_threshold_min: 0x07E0 * 5,
            thresholds_ms: [30, 100, 155, 235],
            keeps_largest: [[true; BUCKETS]; 3],
            triggers: [[false; BUCKETS]; 3],
            window_ms: 1000,
        }
    }
}

/// One counter of a bucket, with the latency that it keeps and its moment.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    commands: u32,
    kept: Option<(Instant, Duration, u64)>,
}

type Cells = [[Cell; BUCKETS]; 3];

/// A slow command: when it is done, what it is, how long it takes.
type Slow = (Instant, Counted, Duration);

/// Counts and what they are counted by.
#[derive(Debug)]
pub(super) struct LatencyMonitor {
    settings: Settings,
    began: Instant,
    /// When the host set the time, and to which ms of its clock.
    clock: Option<(Instant, u64)>,
    active: Cells,
    fixed: Cells,
    active_since: Instant,
    /// Commands that are not done yet.
    pending: BinaryHeap<Reverse<Slow>>,
    /// What triggered the debug log: operation, bucket, latency, stamp.
    debug: Option<(usize, usize, Duration, u64)>,
}

impl LatencyMonitor {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            settings: Settings::default(),
            began: now,
            clock: None,
            active: Cells::default(),
            fixed: Cells::default(),
            active_since: now,
            pending: BinaryHeap::new(),
            debug: None,
        }
    }

    /// A command that the drive fetched and will have done at a moment, so much later.
    pub(super) fn count(&mut self, counted: Counted, at: Instant, latency: Duration) {
        if self.settings.is_enabled && latency >= ms(self.settings.thresholds_ms[0]) {
            self.pending.push(Reverse((at, counted, latency)));
        }
        // Where no host reads the page, what is done does not pile up.
        if self.pending.len() > MOST_PENDING {
            self.settle(at - latency);
        }
    }

    /// The host's clock, in ms.
    pub(super) fn set_clock(&mut self, now: Instant, host_ms: u64) {
        self.settle(now);
        self.clock = Some((now, host_ms));
    }

    /// The time as the drive has it, in the form of NVM Express; before a host has set it, since it was on.
    pub(super) fn stamp(&self, at: Instant) -> u64 {
        let since =
            |from: Instant| u64::try_from(at.saturating_duration_since(from).as_millis()).unwrap_or(0);
        match self.clock {
            Some((set, host_ms)) => (host_ms + since(set)) & ((1 << 48) - 1) | ORIGIN_HOST,
            None => since(self.began),
        }
    }

    /// Set Features; all buckets begin again.
    pub(super) fn set(&mut self, data: &[u8], now: Instant) -> Result<(), Status> {
        let feature = declared("latency-monitor-feature");
        let value = |name: &str, index| feature.value(data, name, index).ok_or(Status::DATA_TRANSFER_ERROR);
        let discard = value("discard_debug_log", 0)?;
        if discard > DISCARD_ONLY || value("enable", 0)? > 1 {
            return Err(Status::INVALID_FIELD);
        }
        if discard == DISCARD_ONLY {
            self.settle(now);
            self.debug = None;
            return Ok(());
        }
        let mut settings = Settings {
            is_enabled: value("enable", 0)? == 1,
            timer_threshold_min: value("active_bucket_timer_threshold_min", 0)?,
            window_ms: value("active_latency_minimum_window_ms", 0)?,
            ..Settings::default()
        };
        for (place, letter) in ["a", "b", "c", "d"].into_iter().enumerate() {
            settings.thresholds_ms[place] = value(&format!("active_threshold_{letter}_ms"), 0)?;
        }
        if settings.thresholds_ms.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Status::INVALID_FIELD);
        }
        for (operation, name) in OPERATIONS.into_iter().enumerate() {
            for bucket in 0..BUCKETS {
                settings.keeps_largest[operation][bucket] =
                    value(&format!("active_{name}_keeps_largest"), bucket)? == 1;
                settings.triggers[operation][bucket] = value(&format!("debug_trigger_{name}"), bucket)? == 1;
            }
        }
        let debug = if discard == 0 { self.debug } else { None };
        *self = Self { settings, began: self.began, clock: self.clock, debug, ..Self::new(now) };
        Ok(())
    }

    /// Count what is done by now, in its order; buckets that are full of time move to the static ones.
    fn settle(&mut self, now: Instant) {
        while let Some(Reverse((at, counted, latency))) = self.pending.peek().copied() {
            if at > now {
                break;
            }
            self.pending.pop();
            self.move_buckets(at);
            self.enter(at, counted, latency);
        }
        self.move_buckets(now);
    }

    fn move_buckets(&mut self, now: Instant) {
        let minutes = u64::try_from(self.settings.timer_threshold_min).unwrap_or(0);
        if minutes == 0 || !self.settings.is_enabled {
            return;
        }
        while now.saturating_duration_since(self.active_since) >= Duration::from_secs(minutes * 60) {
            self.fixed = std::mem::take(&mut self.active);
            self.active_since += Duration::from_secs(minutes * 60);
        }
    }

    fn enter(&mut self, at: Instant, counted: Counted, latency: Duration) {
        let reached = |threshold: &&i128| latency >= ms(**threshold);
        let Some(bucket) = self.settings.thresholds_ms.iter().take_while(reached).count().checked_sub(1)
        else {
            return;
        };
        let operation = counted as usize;
        let stamp = self.stamp(at);
        let cell = &mut self.active[operation][bucket];
        cell.commands = cell.commands.saturating_add(1);
        let window = ms(self.settings.window_ms);
        let is_kept = match cell.kept {
            None => true,
            Some((updated, largest, _)) => {
                let is_open = at.saturating_duration_since(updated) >= window;
                self.settings.keeps_largest[operation][bucket] && is_open && latency > largest
            }
        };
        if is_kept {
            cell.kept = Some((at, latency, stamp));
        }
        if self.debug.is_none() && cell.commands == 1 && self.settings.triggers[operation][bucket] {
            self.debug = Some((operation, bucket, latency, stamp));
        }
    }

    /// The log page.
    pub(super) fn page(&mut self, now: Instant) -> Filled {
        self.settle(now);
        let settings = self.settings;
        let mut page = declared("latency-monitor").page();
        let steps = now.saturating_duration_since(self.active_since).as_secs() / TIMER_STEP.as_secs();
        page.put("is_enabled", i128::from(settings.is_enabled))
            .put("supports_largest_latency_mode", 1)
            .put("supports_measured_latency", 1)
            .put("active_bucket_timer_min", i128::from(steps.min(TIMER_STEPS.into())) * 5)
            .put("active_bucket_timer_threshold_min", settings.timer_threshold_min)
            .put("active_latency_minimum_window_ms", settings.window_ms)
            .put("debug_log_page", DEBUG_LOG_PAGE)
            .put("debug_log_stamp", i128::from(NO_STAMP));
        for (letter, threshold) in ["a", "b", "c", "d"].into_iter().zip(settings.thresholds_ms) {
            page.put(&format!("active_threshold_{letter}_ms"), threshold);
        }
        for (operation, name) in OPERATIONS.into_iter().enumerate() {
            for bucket in 0..BUCKETS {
                let put = [
                    (format!("active_{name}_keeps_largest"), settings.keeps_largest),
                    (format!("debug_trigger_{name}"), settings.triggers),
                ];
                for (field, bits) in put {
                    page.put_at(&field, bucket, i128::from(bits[operation][bucket]));
                }
                put_cell(&mut page, &format!("active_{name}"), bucket, &self.active[operation][bucket]);
                put_cell(&mut page, &format!("static_{name}"), bucket, &self.fixed[operation][bucket]);
            }
        }
        if let Some((operation, bucket, latency, stamp)) = self.debug {
            page.put("debug_log_latency_ms", whole_ms(latency))
                .put("debug_log_stamp", i128::from(stamp))
                .put_at(&format!("debug_was_triggered_by_{}", OPERATIONS[operation]), bucket, 1)
                .put("debug_log_stamp_is_of_host", i128::from(stamp & ORIGIN_HOST != 0));
        }
        page
    }
}

fn put_cell(page: &mut Filled, name: &str, bucket: usize, cell: &Cell) {
    let (latency, stamp) = cell.kept.map_or((0, NO_STAMP), |(_, latency, stamp)| (whole_ms(latency), stamp));
    let is_of_host = cell.kept.is_some() && stamp & ORIGIN_HOST != 0;
    page.put_at(&format!("{name}s"), bucket, i128::from(cell.commands))
        .put_at(&format!("{name}_latency_ms"), bucket, latency)
        .put_at(&format!("{name}_stamp"), bucket, i128::from(stamp))
        .put_at(&format!("{name}_stamp_is_of_host"), bucket, i128::from(is_of_host));
}

fn ms(number: i128) -> Duration {
    Duration::from_millis(u64::try_from(number).unwrap_or(0))
}

fn whole_ms(latency: Duration) -> i128 {
    i128::try_from(latency.as_millis()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Watched {
        monitor: LatencyMonitor,
        began: Instant,
    }

    impl Watched {
        /// With thresholds, a window, and whether the largest is kept.
        fn new(thresholds_ms: [i128; BUCKETS], window_ms: i128, keeps_largest: bool) -> Self {
            let began = Instant::now();
            let mut monitor = LatencyMonitor::new(began);
            monitor.set(&order(thresholds_ms, window_ms, keeps_largest), began).unwrap();
            Self { monitor, began }
        }

        /// Reads that are done so many ms after the beginning, and take so many us.
        fn count(&mut self, reads: &[(u64, u64)]) {
            for (at, us) in reads {
                let at = self.began + Duration::from_millis(*at);
                self.monitor.count(Counted::Read, at, Duration::from_micros(*us));
            }
        }

        fn values(&mut self, after: Duration, name: &str) -> [i128; BUCKETS] {
            let page = self.monitor.page(self.began + after).into_bytes();
            std::array::from_fn(|bucket| declared("latency-monitor").value(&page, name, bucket).unwrap())
        }
    }

    fn order(thresholds_ms: [i128; BUCKETS], window_ms: i128, keeps_largest: bool) -> Vec<u8> {
        let mut data = declared("latency-monitor-feature").page();
        data.put("enable", 1).put("active_latency_minimum_window_ms", window_ms);
        for (letter, threshold) in ["a", "b", "c", "d"].into_iter().zip(thresholds_ms) {
            data.put(&format!("active_threshold_{letter}_ms"), threshold);
        }
        for bucket in 0..BUCKETS {
            data.put_at("active_read_keeps_largest", bucket, i128::from(keeps_largest));
        }
        data.into_bytes()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_latency_at_a_threshold_is_in_its_bucket() {
        let mut watched = Watched::new([5, 30, 100, 235], 0, true);
        watched.count(&[(1, 4_900), (2, 5_000), (3, 29_900), (4, 30_000), (5, 235_000)]);
        assert_eq!(watched.values(LONG, "active_reads"), [2, 1, 0, 1]);
        assert_eq!(watched.values(LONG, "active_writes"), [0; 4]);
        assert_eq!(watched.values(LONG, "active_read_latency_ms"), [29, 30, 0, 235]);
    }

    /// The two examples of the specification's theory of operation, whose third bucket is 40 to 400 ms.
    #[test]
    fn within_the_window_the_largest_is_not_updated() {
        let mut watched = Watched::new([5, 10, 40, 400], 5000, true);
        let steps = [(500, 50_000, 50, 500), (5_250, 100_000, 50, 500), (6_000, 75_000, 75, 6_000)];
        for (place, (at, us, latency_ms, stamp_ms)) in steps.into_iter().enumerate() {
            watched.count(&[(at, us)]);
            let now = Duration::from_millis(at);
            assert_eq!(watched.values(now, "active_reads")[2], place as i128 + 1);
            assert_eq!(watched.values(now, "active_read_latency_ms")[2], latency_ms);
            assert_eq!(watched.values(now, "active_read_stamp")[2], stamp_ms);
        }
    }

    #[test]
    fn the_first_one_stays_where_the_first_is_wanted() {
        let mut watched = Watched::new([5, 10, 40, 400], 5000, false);
        assert_eq!(watched.values(LONG, "active_read_stamp")[2], i128::from(NO_STAMP));
        watched.count(&[(500, 150_000), (10_000, 200_000), (15_000, 75_000)]);
        assert_eq!(watched.values(LONG, "active_reads"), [0, 0, 3, 0]);
        assert_eq!(watched.values(LONG, "active_read_latency_ms")[2], 150);
        assert_eq!(watched.values(LONG, "active_read_stamp")[2], 500);
    }

    #[test]
    fn what_is_not_done_is_not_counted() {
        let mut watched = Watched::new([5, 30, 100, 235], 0, true);
        watched.count(&[(1_000, 40_000)]);
        assert_eq!(watched.values(Duration::from_millis(999), "active_reads"), [0; 4]);
        assert_eq!(watched.values(Duration::from_millis(1_000), "active_reads"), [0, 1, 0, 0]);
    }

    #[test]
    fn what_is_done_does_not_pile_up() {
        let mut watched = Watched::new([5, 30, 100, 235], 0, true);
        for ms in 0..5_000 {
            watched.count(&[(ms, 6_000)]);
            assert!(watched.monitor.pending.len() <= MOST_PENDING + 1);
        }
        assert_eq!(watched.values(LONG, "active_reads"), [5_000, 0, 0, 0]);
    }

    #[test]
    fn buckets_move_when_their_time_is_over() {
        let mut watched = Watched::new([5, 30, 100, 235], 0, true);
        let mut data = order([5, 30, 100, 235], 0, true);
        data[0] = 2;
        watched.monitor.set(&data, watched.began).unwrap();
        watched.count(&[(1_000, 40_000), (600_000, 50_000), (600_001, 240_000)]);
        let later = Duration::from_secs(601);
        assert_eq!(watched.values(later, "static_reads"), [0, 1, 0, 0]);
        assert_eq!(watched.values(later, "active_reads"), [0, 1, 0, 1]);
        assert_eq!(watched.values(Duration::from_secs(1_501), "active_bucket_timer_min")[0], 5);
    }

    #[test]
    fn a_set_clears_and_one_out_of_order_is_refused() {
        let mut watched = Watched::new([5, 30, 100, 235], 0, true);
        watched.count(&[(1, 40_000)]);
        let refused = watched.monitor.set(&order([5, 30, 30, 235], 0, true), watched.began + LONG);
        assert_eq!(refused, Err(Status::INVALID_FIELD));
        assert_eq!(watched.values(LONG, "active_reads"), [0, 1, 0, 0]);
        watched.monitor.set(&order([5, 30, 100, 235], 0, true), watched.began + LONG).unwrap();
        assert_eq!(watched.values(LONG, "active_reads"), [0; 4]);
        assert_eq!(watched.monitor.set(&[0; 12], watched.began), Err(Status::DATA_TRANSFER_ERROR));
    }

    #[test]
    fn a_trigger_keeps_what_came_first() {
        let mut watched = Watched::new([5, 30, 100, 235], 0, true);
        let mut data = order([5, 30, 100, 235], 0, true);
        data[9] = 1 << 3;
        watched.monitor.set(&data, watched.began).unwrap();
        watched.monitor.set_clock(watched.began, 1_000_000);
        watched.count(&[(1, 6_000), (2, 40_000), (3, 70_000)]);
        assert_eq!(watched.values(LONG, "debug_log_latency_ms")[0], 40);
        assert_eq!(watched.values(LONG, "debug_was_triggered_by_read"), [0, 1, 0, 0]);
        assert_eq!(watched.values(LONG, "debug_log_stamp")[0], i128::from(1_000_002 | ORIGIN_HOST));
        let mut discard = vec![0; 4096];
        discard[11] = 2;
        watched.monitor.set(&discard, watched.began + LONG).unwrap();
        assert_eq!(watched.values(LONG, "debug_log_latency_ms")[0], 0);
        assert_eq!(watched.values(LONG, "active_reads"), [1, 2, 0, 0]);
    }
}
