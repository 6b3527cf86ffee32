//! Energy: what each thing that a drive does takes, and which part of the drive it warms.

use super::preset::Power;
use super::time::{PS_PER_S, Ps};

/// What a drive has done since it was made, as far as it takes energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Commands of the host.
    pub commands: u64,
    /// Bytes over the link, both ways.
    pub bytes: u64,
    /// Program units programmed.
    pub programs: u64,
    /// Array reads.
    pub reads: u64,
    /// Blocks erased, each on one die.
    pub erases: u64,
}

/// Energy that warmed the two nodes, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heat {
    /// The controller.
    pub controller_j: f64,
    /// NAND and case.
    pub nand_j: f64,
}

impl Heat {
    const fn total_j(self) -> f64 {
        self.controller_j + self.nand_j
    }
}

/// Turns counters into joules. The idle power warms the controller.
#[derive(Clone, Debug)]
pub struct Meter {
    idle_w: f64,
    command_j: f64,
    byte_j: f64,
    program_j: f64,
    read_j: f64,
    erase_j: f64,
    controller_share: f64,
    metered: Activity,
}

impl Meter {
    /// The meter of a new drive.
    #[must_use]
    pub const fn new(power: &Power) -> Self {
        Self {
            idle_w: power.idle_w,
            command_j: power.command_uj * 1e-6,
            byte_j: power.byte_nj * 1e-9,
            program_j: power.program_uj * 1e-6,
            read_j: power.read_uj * 1e-6,
            erase_j: power.erase_uj * 1e-6,
            controller_share: power.controller_share,
            metered: Activity { commands: 0, bytes: 0, programs: 0, reads: 0, erases: 0 },
        }
    }

    /// All the energy drawn up to a moment, in joules: of the drive as it is, not of what it stands for.
    #[must_use]
    pub fn energy_j(&self, activity: &Activity, now_ps: Ps) -> f64 {
        self.idle(now_ps).total_j() + self.work_j(&Activity::default(), activity)
    }

    /// Idle power over a time.
    #[must_use]
    pub fn idle(&self, elapsed_ps: Ps) -> Heat {
        Heat { controller_j: self.idle_w * elapsed_ps as f64 / PS_PER_S as f64, nand_j: 0.0 }
    }

    /// What was done since the last call, idle power apart.
    pub fn take_work(&mut self, activity: &Activity) -> Heat {
        let work_j = self.work_j(&self.metered, activity);
        self.metered = *activity;
        Heat { controller_j: work_j * self.controller_share, nand_j: work_j * (1.0 - self.controller_share) }
    }

    fn work_j(&self, from: &Activity, to: &Activity) -> f64 {
        (to.commands - from.commands) as f64 * self.command_j
            + (to.bytes - from.bytes) as f64 * self.byte_j
            + (to.programs - from.programs) as f64 * self.program_j
            + (to.reads - from.reads) as f64 * self.read_j
            + (to.erases - from.erases) as f64 * self.erase_j
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POWER: Power = Power {
        idle_w: 1.5,
        command_uj: 2.0,
        byte_nj: 0.25,
        program_uj: 60.0,
        read_uj: 5.0,
        erase_uj: 900.0,
        controller_share: 0.375,
    };

    const DONE: Activity =
        Activity { commands: 1_000_000, bytes: 1 << 30, programs: 10_000, reads: 40_000, erases: 300 };

    fn assert_near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-12, "{value} and not {expected}");
    }

    #[test]
    fn joules_are_the_sum_of_what_was_done() {
        // 2 J of commands, 2^28 nJ of bytes, 0.6 J of programs, 0.2 J of reads, 0.27 J of erases, 15 J idle.
        let expected = 2.0 + 0.268_435_456 + 0.6 + 0.2 + 0.27 + 15.0;
        assert_near(Meter::new(&POWER).energy_j(&DONE, 10 * PS_PER_S), expected);
    }

    #[test]
    fn heat_is_taken_once_and_adds_up_to_the_energy() {
        let mut meter = Meter::new(&POWER);
        let half = Activity { commands: 400_000, programs: 9_999, ..Activity::default() };
        let (first, second) = (meter.take_work(&half), meter.take_work(&DONE));
        assert_eq!(meter.take_work(&DONE), Heat::default());
        let idle = meter.idle(10 * PS_PER_S);
        let heat_j = first.total_j() + second.total_j() + idle.total_j();
        assert_near(heat_j, meter.energy_j(&DONE, 10 * PS_PER_S));
        assert_near(first.controller_j / first.nand_j, 0.375 / 0.625);
        assert_eq!(idle.nand_j, 0.0);
    }
}
