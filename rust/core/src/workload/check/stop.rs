//! What ends a step.

use super::super::stimulus::{SteadyRule, Stop};

/// Most windows of a steady rule; the engine keeps a value of each.
pub const MOST_WINDOWS: u32 = 10_000;

impl Stop {
    pub(super) fn check(&self) -> Result<(), String> {
        for (field, value) in
            [("duration_ns", self.duration_ns), ("amount_bytes", self.amount_bytes), ("ios", self.ios)]
        {
            if value == Some(0) {
                return Err(format!("stop.{field} 0 does nothing"));
            }
        }
        let ends = [self.duration_ns, self.amount_bytes, self.ios].iter().any(Option::is_some);
        match self.steady {
            Some(rule) => rule.check(),
            None if ends => Ok(()),
            None => Err("stop: nothing ends the step".into()),
        }
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
