//! I/Os that took long, with what their thread knows of the time that they took.
//!
//! A drive that answers late and a thread that looks late have the same latency. So a thread that hears nothing
//! for a while wakes up, and looks again each time that the silence is twice as long: if it is there when it
//! should be and finds nothing, the answer is not there. Each look also asks the kernel how many I/Os the driver
//! has, and how long the thread was ready to run and had no processor. All of this happens in the time of I/Os
//! that are late anyway.
//!
//! What wakes the thread is an alarm that stands beside its waits: a time-out of each wait would set a timer for
//! each I/O. It is set for the end of the silence as it is then, and anew when it has rung: answers in between
//! do not touch it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::pread;

use super::slots::{Flights, Outstanding};

/// How late a thread may be before that is an absence: timers and wake-ups of an idle processor take less.
const SLACK_NS: u64 = 50_000;
/// How old the last reading of the scheduler's count may become, or half of the limit, if that is longer: what a
/// thread waited for before an I/O is taken for its own by no more than this.
const READING_NS: u64 = 1_000_000;
/// Looks at the driver's count are so far apart at least.
const LOOKS_APART_NS: u64 = 20_000;
/// Of each kind of event so many are kept: an I/O that lasts longer than these has the last of them.
const MOST_EVENTS: usize = 64;
/// Slow I/Os of one thread and step that are kept: the slowest.
const MOST_SLOW: usize = 1000;

/// An I/O that took longer than the limit. Times are on the engine's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowIo {
    /// What it is, and when its latency began.
    pub what: Outstanding,
    /// From there until it was seen.
    pub latency_ns: u64,
    /// The last part of it, in which the thread had no other answer either.
    pub silence_ns: u64,
    /// How long the thread had nothing outstanding before it; `None` if it had.
    pub idle_ns: Option<u64>,
    /// How much of its time the thread had been due back from a wait, and was not.
    pub absent_ns: u64,
    /// How much of its time the thread spent in stretches of its own code that were long.
    pub own_ns: u64,
    /// In how much of its time the thread was ready to run and had no processor; `None` if the kernel does not tell.
    pub waited_ns: Option<u64>,
    /// In how much of its time the thread ran; likewise.
    pub ran_ns: Option<u64>,
    /// Waits of its time that a signal ended: a thread that is stopped is woken by one.
    pub interruptions: u32,
    /// How often the thread looked and it was not answered.
    pub looks: u32,
    /// What the driver had meanwhile; `None` if the kernel does not tell.
    pub at_driver: Option<AtDriver>,
}

/// I/Os of the device that the kernel counted as given to the driver, at looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtDriver {
    /// The fewest.
    pub least: u64,
    /// By how many they were fewer than those that the engine had outstanding, at most.
    pub missing: u64,
    /// By how many they were more, at most.
    pub foreign: u64,
}

/// A stretch of time with an amount: how often the thread was interrupted in it, or how long it waited, and ran.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from_ns: u64,
    until_ns: u64,
    amount: u64,
    ran_ns: u64,
}

/// What the scheduler has counted of the thread until a moment.
#[derive(Clone, Copy, Debug)]
struct Scheduled {
    at_ns: u64,
    ran_ns: u64,
    waited_ns: u64,
}

impl Stretch {
    /// How much of it lies between two moments.
    fn within(&self, from_ns: u64, until_ns: u64) -> u64 {
        self.until_ns.min(until_ns).saturating_sub(self.from_ns.max(from_ns))
    }
}

#[derive(Clone, Copy, Debug)]
struct Look {
    at_ns: u64,
    /// No answer for some time: what is outstanding has reached the driver, if nothing holds it back.
    in_silence: bool,
    at_driver: Option<AtDriver>,
}

/// Orders slow I/Os by their latency.
#[derive(Debug, PartialEq, Eq)]
struct ByLatency(SlowIo);

impl PartialOrd for ByLatency {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByLatency {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |of: &Self| (of.0.latency_ns, of.0.what.submitted_ns);
        key(self).cmp(&key(other))
    }
}

/// What one thread looks at.
pub(super) struct SlowWatch {
    limit_ns: u64,
    reading_ns: u64,
    scheduler: Option<File>,
    driver: Option<File>,
    flights: Vec<Arc<Flights>>,
    /// When the thread last returned to its own code, and when it should return at the latest.
    returned_ns: u64,
    due_ns: u64,
    /// When the next alarm rings, unless it has.
    alarm_ns: u64,
    last_answer_ns: u64,
    /// When the queue was filled from empty, and how long it had been empty.
    begun: (u64, u64),
    interruptions: u64,
    scheduled: Option<Scheduled>,
    absences: VecDeque<Stretch>,
    own: VecDeque<Stretch>,
    waits: VecDeque<Stretch>,
    signals: VecDeque<Stretch>,
    looks: VecDeque<Look>,
    fresh: Vec<(Outstanding, u64)>,
    found: BinaryHeap<Reverse<ByLatency>>,
}

impl SlowWatch {
    /// For the calling thread; `driver` has the kernel's count of the I/Os that the driver has.
    pub(super) fn new(limit_ns: u64, driver: Option<File>, flights: Vec<Arc<Flights>>) -> Box<Self> {
        Box::new(Self {
            limit_ns,
            reading_ns: READING_NS.max(limit_ns / 2),
            scheduler: File::open("/proc/thread-self/schedstat").ok(),
            driver,
            flights,
            returned_ns: 0,
            due_ns: u64::MAX,
            alarm_ns: 0,
            last_answer_ns: 0,
            begun: (0, 0),
            interruptions: 0,
            scheduled: None,
            absences: VecDeque::new(),
            own: VecDeque::new(),
            waits: VecDeque::new(),
            signals: VecDeque::new(),
            looks: VecDeque::new(),
            fresh: Vec::new(),
            found: BinaryHeap::new(),
        })
    }

    /// A step begins: what was before is none of its I/Os'.
    pub(super) fn begin(&mut self, now_ns: u64) {
        (self.returned_ns, self.due_ns, self.last_answer_ns) = (now_ns, u64::MAX, now_ns);
        self.begun = (now_ns, 0);
        self.read_scheduled(now_ns);
        self.absences.clear();
        self.own.clear();
        self.waits.clear();
        self.signals.clear();
        self.looks.clear();
    }

    /// The thread is back in its own code; `interruptions` is how many waits signals have ended so far.
    #[inline]
    pub(super) fn returned(&mut self, now_ns: u64, interruptions: u64) {
        let since_ns = std::mem::replace(&mut self.returned_ns, now_ns);
        if now_ns > self.due_ns.saturating_add(SLACK_NS) {
            push(
                &mut self.absences,
                Stretch { from_ns: self.due_ns, until_ns: now_ns, amount: 0, ran_ns: 0 },
            );
        }
        if interruptions != self.interruptions {
            let amount = interruptions - self.interruptions;
            self.interruptions = interruptions;
            push(&mut self.signals, Stretch { from_ns: since_ns, until_ns: now_ns, amount, ran_ns: 0 });
        }
        if self.scheduled.is_some_and(|before| now_ns > before.at_ns + self.reading_ns) {
            self.read_scheduled(now_ns);
        }
    }

    /// Whether an I/O has to be noted.
    #[inline]
    pub(super) fn is_slow(&self, latency_ns: u64) -> bool {
        latency_ns >= self.limit_ns
    }

    /// An I/O was answered, late.
    #[cold]
    pub(super) fn note(&mut self, answered: Outstanding, latency_ns: u64) {
        self.fresh.push((answered, latency_ns));
    }

    /// All was taken that was there at this moment: so many answers.
    #[inline]
    pub(super) fn reaped(&mut self, now_ns: u64, answers: usize, in_flight: usize) {
        if !self.fresh.is_empty() {
            self.judge(now_ns);
        } else if answers == 0 && in_flight > 0 && now_ns >= self.last_answer_ns + self.limit_ns / 2 {
            self.look(now_ns, true);
        }
        if answers > 0 {
            self.last_answer_ns = now_ns;
        }
    }

    /// The thread leaves its own code now, with all that is in flight where it begins `from_empty`.
    #[inline]
    pub(super) fn leaves(&mut self, now_ns: u64, from_empty: bool) {
        if from_empty {
            self.begun = (now_ns, now_ns.saturating_sub(self.last_answer_ns));
            // Before an I/O there is no silence.
            self.last_answer_ns = now_ns;
        }
        if now_ns > self.returned_ns + SLACK_NS {
            push(
                &mut self.own,
                Stretch { from_ns: self.returned_ns, until_ns: now_ns, amount: 0, ran_ns: 0 },
            );
        }
        self.due_ns = u64::MAX;
    }

    /// The alarm that the thread needs now, with I/Os in flight, if none that is set rings early enough.
    #[inline]
    pub(super) fn alarm(&mut self, now_ns: u64) -> Option<Duration> {
        let silence_ns = now_ns.saturating_sub(self.last_answer_ns);
        let first_ns = self.limit_ns / 2;
        let after_ns = if silence_ns < first_ns { first_ns - silence_ns } else { silence_ns };
        let is_set = now_ns < self.alarm_ns && self.alarm_ns <= now_ns.saturating_add(after_ns);
        (!is_set).then(|| {
            self.alarm_ns = now_ns.saturating_add(after_ns);
            Duration::from_nanos(after_ns)
        })
    }

    /// The thread will be back at this time at the latest, or when the alarm rings.
    #[inline]
    pub(super) fn waits(&mut self, now_ns: u64, until_ns: u64) {
        self.due_ns = if self.alarm_ns > now_ns { until_ns.min(self.alarm_ns) } else { until_ns };
    }

    /// The slow I/Os since this was asked last, in the order of their submission.
    pub(super) fn take(&mut self) -> Vec<SlowIo> {
        let mut found: Vec<_> = self.found.drain().map(|Reverse(ByLatency(slow))| slow).collect();
        found.sort_by_key(|slow| slow.what.submitted_ns);
        found
    }

    #[cold]
    fn look(&mut self, now_ns: u64, in_silence: bool) {
        if self.looks.back().is_none_or(|last| now_ns >= last.at_ns + LOOKS_APART_NS) {
            let at_driver = self.count_at_driver();
            if self.looks.len() == MOST_EVENTS {
                self.looks.pop_front();
            }
            self.looks.push_back(Look { at_ns: now_ns, in_silence, at_driver });
        }
    }

    /// What the driver has now, against what all threads of the engine have outstanding.
    fn count_at_driver(&self) -> Option<AtDriver> {
        let mut numbers = numbers_in(self.driver.as_ref()?)?;
        let least = numbers.next()? + numbers.next()?;
        let ours: usize = self.flights.iter().map(|flights| flights.outstanding().count()).sum();
        let ours = ours as u64;
        Some(AtDriver { least, missing: ours.saturating_sub(least), foreign: least.saturating_sub(ours) })
    }

    #[cold]
    fn read_scheduled(&mut self, now_ns: u64) {
        let counts = self.scheduler.as_ref().and_then(numbers_in).and_then(|mut numbers| {
            Some(Scheduled { at_ns: now_ns, ran_ns: numbers.next()?, waited_ns: numbers.next()? })
        });
        let before = std::mem::replace(&mut self.scheduled, counts);
        if let (Some(before), Some(now)) = (before, counts) {
            let amount = now.waited_ns.saturating_sub(before.waited_ns);
            let ran_ns = now.ran_ns.saturating_sub(before.ran_ns);
            push(&mut self.waits, Stretch { from_ns: before.at_ns, until_ns: now_ns, amount, ran_ns });
        }
    }

    /// Join what is known of the time of each I/O that was late.
    #[cold]
    fn judge(&mut self, now_ns: u64) {
        self.read_scheduled(now_ns);
        let silence_ns = now_ns.saturating_sub(self.last_answer_ns);
        if self.looks.back().is_none_or(|last| last.at_ns + silence_ns < now_ns) {
            // Others were answered all the time: this is the first look at the driver.
            self.look(now_ns, false);
        }
        for (what, latency_ns) in std::mem::take(&mut self.fresh) {
            let from_ns = what.submitted_ns;
            let within = |stretches: &VecDeque<Stretch>| -> u64 {
                stretches.iter().map(|stretch| stretch.within(from_ns, now_ns)).sum()
            };
            let amounts = |stretches: &VecDeque<Stretch>| -> u64 {
                let met = stretches.iter().filter(|stretch| stretch.until_ns > from_ns);
                met.map(|stretch| stretch.amount).sum()
            };
            let ran_ns: u64 = self
                .waits
                .iter()
                .filter(|stretch| stretch.until_ns > from_ns)
                .map(|stretch| stretch.ran_ns)
                .sum();
            let of_time = || self.looks.iter().filter(|look| look.at_ns >= from_ns);
            let any_silent = of_time().any(|look| look.in_silence);
            let looks = of_time().filter(|look| look.in_silence || !any_silent);
            let (begun_ns, empty_ns) = self.begun;
            let slow = SlowIo {
                what,
                latency_ns,
                silence_ns: silence_ns.min(latency_ns),
                idle_ns: (from_ns <= begun_ns && from_ns + empty_ns >= begun_ns).then_some(empty_ns),
                absent_ns: within(&self.absences),
                own_ns: within(&self.own),
                waited_ns: self.scheduled.map(|_| amounts(&self.waits).min(latency_ns)),
                ran_ns: self.scheduled.map(|_| ran_ns.min(latency_ns)),
                interruptions: u32::try_from(amounts(&self.signals)).unwrap_or(u32::MAX),
                looks: u32::try_from(of_time().filter(|look| look.at_ns < now_ns).count()).expect("a few"),
                at_driver: looks.filter_map(|look| look.at_driver).reduce(|one, other| AtDriver {
                    least: one.least.min(other.least),
                    missing: one.missing.max(other.missing),
                    foreign: one.foreign.max(other.foreign),
                }),
            };
            if self.found.len() == MOST_SLOW
                && self.found.peek().is_some_and(|Reverse(least)| least.0.latency_ns < latency_ns)
            {
                self.found.pop();
            }
            if self.found.len() < MOST_SLOW {
                self.found.push(Reverse(ByLatency(slow)));
            }
        }
    }
}

fn push(events: &mut VecDeque<Stretch>, stretch: Stretch) {
    if events.len() == MOST_EVENTS {
        events.pop_front();
    }
    events.push_back(stretch);
}

/// The numbers in a file of the kernel's, which is read anew from its beginning.
fn numbers_in(file: &File) -> Option<impl Iterator<Item = u64> + use<>> {
    let mut text = [0; 96];
    let length = pread(file, &mut text, 0).ok()?;
    let numbers: Vec<u64> = std::str::from_utf8(&text[..length])
        .ok()?
        .split_ascii_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    Some(numbers.into_iter())
}

// A thread's schedstat is a file that Miri has not.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::workload::{Io, Operation};

    const US: u64 = 1_000;

    fn watch() -> Box<SlowWatch> {
        let mut watch = SlowWatch::new(200 * US, None, Vec::new());
        watch.scheduler = None;
        watch.begin(0);
        watch
    }

    fn read_at(submitted_ns: u64) -> Outstanding {
        Outstanding { submitted_ns, io: Io::new(Operation::Read, 0, 4096) }
    }

    /// One read from `from_ns` on, found at `found_ns`, by a thread that looked when it was due at `looks_ns`.
    fn slow_read(watch: &mut SlowWatch, from_ns: u64, looks_ns: &[u64], found_ns: u64) -> SlowIo {
        let mut now_ns = from_ns;
        watch.leaves(now_ns, true);
        for look_ns in looks_ns {
            watch.alarm(now_ns);
            watch.waits(now_ns, u64::MAX);
            now_ns = *look_ns;
            watch.returned(now_ns, 0);
            watch.reaped(now_ns, 0, 1);
            watch.leaves(now_ns, false);
        }
        watch.alarm(now_ns);
        watch.waits(now_ns, u64::MAX);
        watch.returned(found_ns, 0);
        watch.note(read_at(from_ns), found_ns - from_ns);
        watch.reaped(found_ns, 1, 0);
        watch.take().remove(0)
    }

    #[test]
    fn a_thread_that_looks_in_time_was_never_absent() {
        // At half of the limit, then whenever the silence is twice as long.
        let looks_ns = [110 * US, 222 * US, 450 * US, 900 * US];
        let slow = slow_read(&mut watch(), 10 * US, &looks_ns, 1_200 * US);
        assert_eq!((slow.looks, slow.absent_ns, slow.own_ns, slow.silence_ns), (4, 0, 0, 1_190 * US));
        assert_eq!(slow.idle_ns, Some(10 * US));
    }

    #[test]
    fn a_thread_that_is_late_was_absent_since_it_was_due() {
        let slow = slow_read(&mut watch(), 10 * US, &[], 5_010 * US);
        assert_eq!((slow.looks, slow.absent_ns), (0, 4_900 * US));
    }

    #[test]
    fn time_in_its_own_code_is_no_wait() {
        let mut watch = watch();
        watch.leaves(0, true);
        watch.waits(0, 100 * US);
        watch.returned(40 * US, 0);
        watch.reaped(40 * US, 0, 2);
        watch.leaves(3_040 * US, false);
        watch.waits(3_040 * US, 3_140 * US);
        watch.returned(3_050 * US, 1);
        watch.note(read_at(0), 3_050 * US);
        watch.reaped(3_050 * US, 1, 1);
        let slow = watch.take().remove(0);
        assert_eq!((slow.own_ns, slow.absent_ns, slow.interruptions), (3_000 * US, 0, 1));
    }

    #[test]
    fn answers_do_not_touch_the_alarm_and_it_rings_half_a_limit_after_the_last() {
        let (mut watch, mut alarms_ns) = (watch(), Vec::new());
        let mut turn = |now_ns: u64, answers: usize| {
            watch.returned(now_ns, 0);
            watch.reaped(now_ns, answers, 1);
            watch.leaves(now_ns, false);
            alarms_ns.extend(watch.alarm(now_ns).map(|after| (now_ns, now_ns + after.as_nanos() as u64)));
        };
        // An answer each 10 us. The alarm of the beginning rings, and is set for 100 us after the last of them.
        (0..=90).step_by(10).for_each(|us| turn(us * US, 1));
        turn(101 * US, 0);
        // None more: it rings after half of the limit, and when that is over once more.
        turn(190 * US, 0);
        turn(290 * US, 0);
        // An answer comes before that: the next silence is looked at as early as the first.
        turn(300 * US, 1);
        let expected = [(0, 100), (101, 190), (190, 290), (290, 490), (300, 400)];
        assert_eq!(alarms_ns, expected.map(|(set, rings)| (set * US, rings * US)));
    }

    #[test]
    fn the_slowest_are_kept() {
        let mut watch = watch();
        for number in 0..2 * MOST_SLOW as u64 {
            let from_ns = number * 1_000 * US;
            watch.note(read_at(from_ns), (300 + number) * US);
            watch.reaped(from_ns + (300 + number) * US, 1, 1);
        }
        let kept = watch.take();
        assert_eq!(kept.len(), MOST_SLOW);
        assert_eq!(kept[0].latency_ns, (300 + MOST_SLOW as u64) * US);
    }
}
