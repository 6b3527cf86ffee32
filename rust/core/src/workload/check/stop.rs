//! What ends a step.

use super::super::stimulus::{Bounds, SteadyRule, Stop};

/// Most windows of a steady rule; the engine keeps a value of each.
pub const MOST_WINDOWS: u32 = 10_000;

impl Stop {
    /// `ends_anyway`: all streams of the step have an end of their own.
    pub(super) fn check(&self, ends_anyway: bool) -> Result<(), String> {
        let bounds = Bounds { duration_ns: self.duration_ns, amount_bytes: self.amount_bytes, ios: self.ios };
        bounds.check("stop")?;
        match self.steady {
            Some(rule) => rule.check(),
            None if bounds.any() || ends_anyway => Ok(()),
            None => Err("stop: nothing ends the step".into()),
        }
    }
}

impl Bounds {
    pub(super) fn check(&self, of: &str) -> Result<(), String> {
        for (field, value) in
            [("duration_ns", self.duration_ns), ("amount_bytes", self.amount_bytes), ("ios", self.ios)]
        {
            if value == Some(0) {
                return Err(format!("{of}.{field} 0 does nothing"));
            }
        }
        Ok(())
    }
}

impl SteadyRule {
    fn check(&self) -> Result<(), String> {
        if self.window_ns == 0 {
            return Err("stop.steady.window_ns 0 is not above 0".into());
        }
        if !(2..=MOST_WINDOWS).contains(&self.windows) {
            return Err(format!("stop.steady.windows {} is not within 2 to {MOST_WINDOWS}", self.windows));
        }
        for (field, pct) in [("excursion_pct", self.excursion_pct), ("slope_pct", self.slope_pct)] {
            // Zero is allowed: it asks for figures that do not change at all.
            if !(pct >= 0.0 && pct.is_finite()) {
                return Err(format!("stop.steady.{field} {pct} is not at least 0 and finite"));
            }
        }
        Ok(())
    }
}
