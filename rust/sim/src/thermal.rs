//! Heat: two nodes that warm and cool, the sensor that the host sees, and throttling.

use super::power::{Activity, Heat, Meter};
use super::preset::{self, Throttle};
use super::scale::Scale;
use super::smart::Sensed;
use super::time::{PS_PER_S, Ps};

/// Nominal time from one look at the temperatures to the next.
const TICK_NS: u64 = 10_000_000;

/// A part of the drive with its own way to the air: `C dT/dt = P - (T - ambient) / R`.
#[derive(Clone, Copy, Debug)]
struct Node {
    celsius: f64,
    kelvin_per_watt: f64,
    /// What is left of a difference after a tick.
    kept: f64,
}

impl Node {
    fn new(ambient_c: f64, kelvin_per_watt: f64, joules_per_kelvin: f64, nominal_tick_s: f64) -> Self {
        let kept = decay(nominal_tick_s / (kelvin_per_watt * joules_per_kelvin));
        Self { celsius: ambient_c, kelvin_per_watt, kept }
    }

    /// One tick at constant power, exactly.
    fn tick(&mut self, ambient_c: f64, watts: f64) {
        let goal = ambient_c + watts * self.kelvin_per_watt;
        self.celsius = goal + (self.celsius - goal) * self.kept;
    }
}

/// `exp(-x)`, from operations that every machine rounds alike.
fn decay(x: f64) -> f64 {
    if x > 700.0 {
        return 0.0;
    }
    // Halved until the series is short, then squared as often.
    let (mut small, mut halvings) = (x, 0);
    while small > 0.5 {
        small /= 2.0;
        halvings += 1;
    }
    let growth = (1..24).rev().fold(1.0, |sum, n| 1.0 + sum * small / f64::from(n));
    (0..halvings).fold(1.0 / growth, |value, _| value * value)
}

/// Temperatures and throttling of a drive. All that depends on the past moves in ticks of 10 ms nominal
/// time; a scaled drive warms so many times faster.
#[derive(Clone, Debug)]
pub struct ThermalState {
    ambient_c: f64,
    controller: Node,
    nand: Node,
    sensor_c: f64,
    sensor_kept: f64,
    sensor_offset_c: f64,
    warning_c: Option<f64>,
    critical_c: Option<f64>,
    levels: Vec<Throttle>,
    factors_q16: Vec<u64>,
    level: usize,
    tick_ps: Ps,
    next_tick_ps: Ps,
    warning_ticks: u64,
    critical_ticks: u64,
    throttle_events: u64,
}

impl ThermalState {
    /// A drive as warm as the air, at moment 0.
    #[must_use]
    pub fn new(preset: &preset::Thermal, scale: Scale) -> Self {
        let tick_ps = scale.virtual_ps(TICK_NS).max(1);
        // The scale shortens the tick and the time constants alike, but for the tick's whole picoseconds.
        let nominal_tick_s = tick_ps as f64 * f64::from(scale.factor()) / PS_PER_S as f64;
        let node = |k_per_w, j_per_k| Node::new(preset.ambient_c, k_per_w, j_per_k, nominal_tick_s);
        let lag_s = preset.sensor_lag_s;
        let mut factors_q16 = vec![1 << 16];
        factors_q16.extend(preset.throttle.iter().map(|level| q16(level.factor)));
        Self {
            ambient_c: preset.ambient_c,
            controller: node(preset.controller_k_per_w, preset.controller_j_per_k),
            nand: node(preset.nand_k_per_w, preset.nand_j_per_k),
            sensor_c: preset.ambient_c,
            sensor_kept: if lag_s > 0.0 { decay(nominal_tick_s / lag_s) } else { 0.0 },
            sensor_offset_c: preset.sensor_offset_c,
            warning_c: preset.warning_c,
            critical_c: preset.critical_c,
            levels: preset.throttle.clone(),
            factors_q16,
            level: 0,
            tick_ps,
            next_tick_ps: tick_ps,
            warning_ticks: 0,
            critical_ticks: 0,
            throttle_events: 0,
        }
    }

    /// When [`advance`](Self::advance) has something to do.
    #[inline]
    #[must_use]
    pub const fn next_tick_ps(&self) -> Ps {
        self.next_tick_ps
    }

    /// Let time pass up to a moment. To be called before what happens at that moment is counted: then the
    /// activity since the last call belongs to the first of the ticks that have ended, and the others were
    /// idle.
    pub fn advance(&mut self, now_ps: Ps, activity: &Activity, meter: &mut Meter) {
        let idle = meter.idle(self.tick_ps);
        while self.next_tick_ps <= now_ps {
            let work = meter.take_work(activity);
            let before = self.temperatures();
            self.tick(Heat {
                controller_j: work.controller_j + idle.controller_j,
                nand_j: work.nand_j + idle.nand_j,
            });
            self.next_tick_ps += self.tick_ps;
            if work == Heat::default() && self.temperatures() == before && self.next_tick_ps <= now_ps {
                // It has cooled down to the last bit: all idle ticks that are left are like this one.
                let ticks = (now_ps - self.next_tick_ps) / self.tick_ps + 1;
                self.count(ticks);
                self.next_tick_ps += ticks * self.tick_ps;
            }
        }
    }

    fn temperatures(&self) -> [f64; 3] {
        [self.controller.celsius, self.nand.celsius, self.sensor_c]
    }

    fn tick(&mut self, heat: Heat) {
        let tick_s = self.tick_ps as f64 / PS_PER_S as f64;
        self.controller.tick(self.ambient_c, heat.controller_j / tick_s);
        self.nand.tick(self.ambient_c, heat.nand_j / tick_s);
        let truth_c = self.controller.celsius;
        self.sensor_c = truth_c + (self.sensor_c - truth_c) * self.sensor_kept;
        self.count(1);
        self.throttle();
    }

    /// So many ticks ended with the sensor where it is now.
    fn count(&mut self, ticks: u64) {
        let sensed_c = f64::from(self.sensor_c());
        if self.critical_c.is_some_and(|critical_c| sensed_c >= critical_c) {
            self.critical_ticks += ticks;
        } else if self.warning_c.is_some_and(|warning_c| sensed_c >= warning_c) {
            self.warning_ticks += ticks;
        }
    }

    /// Find the level for the controller's temperature: up at its beginning, down only below its hysteresis.
    fn throttle(&mut self) {
        let (celsius, before) = (self.controller.celsius, self.level);
        while self.levels.get(self.level).is_some_and(|above| celsius >= above.from_c) {
            self.level += 1;
        }
        while self.level > 0 && {
            let current = &self.levels[self.level - 1];
            celsius < current.from_c - current.hysteresis_k
        } {
            self.level -= 1;
        }
        self.throttle_events += u64::from(before == 0 && self.level > 0);
    }

    /// A time of the front end, as long as throttling makes it.
    #[inline]
    #[must_use]
    pub fn stretched_ps(&self, ps: Ps) -> Ps {
        if self.level == 0 {
            return ps;
        }
        ((u128::from(ps) * u128::from(self.factor_q16())) >> 16) as Ps
    }

    /// How much longer the front end takes, in units of 2^-16.
    #[inline]
    #[must_use]
    pub fn factor_q16(&self) -> u64 {
        self.factors_q16[self.level]
    }

    /// Throttle level, 0 for none.
    #[must_use]
    pub const fn level(&self) -> usize {
        self.level
    }

    /// How often throttling began.
    #[must_use]
    pub const fn throttle_events(&self) -> u64 {
        self.throttle_events
    }

    /// What the drive reports: late, beside the truth, and in whole degrees.
    #[must_use]
    pub fn sensor_c(&self) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "presets are checked; no drive is so hot")]
        let celsius = (self.sensor_c + self.sensor_offset_c).round() as i32;
        celsius
    }

    /// What the sensor says, and whether the drive throttles.
    #[must_use]
    pub fn sensed(&self) -> Sensed {
        Sensed {
            temperature_c: self.sensor_c(),
            throttles: self.level > 0,
            throttle_events: self.throttle_events,
        }
    }

    /// The true temperatures of controller and NAND.
    #[must_use]
    pub const fn true_temperatures_c(&self) -> (f64, f64) {
        (self.controller.celsius, self.nand.celsius)
    }

    /// Virtual seconds in which the sensor was at the warning threshold or above, but below the critical one,
    /// as NVMe counts it.
    #[must_use]
    pub fn warning_s(&self) -> f64 {
        self.seconds(self.warning_ticks)
    }

    /// Virtual seconds in which the sensor was at the critical threshold or above.
    #[must_use]
    pub fn critical_s(&self) -> f64 {
        self.seconds(self.critical_ticks)
    }

    fn seconds(&self, ticks: u64) -> f64 {
        (u128::from(ticks) * u128::from(self.tick_ps)) as f64 / PS_PER_S as f64
    }
}

/// A factor as an integer ratio, so that stretched times are whole picoseconds without rounding modes.
fn q16(factor: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
    let ratio = (factor * 65_536.0).round() as u64;
    ratio
}

#[cfg(test)]
mod tests;
