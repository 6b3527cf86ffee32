//! When I/Os are issued.

use super::super::stimulus::{Cap, Pacing};

pub(super) fn check(pacing: Pacing) -> Result<(), String> {
    match pacing {
        Pacing::ClosedLoop | Pacing::ThinkTime { .. } => Ok(()),
        Pacing::Batches { ios: 0, .. } => Err("batches.ios 0 does nothing".into()),
        Pacing::Batches { rest_ns: 0, .. } => Err("batches.rest_ns 0 is not above 0".into()),
        Pacing::Batches { cap: Some(Cap { per_s, .. }), .. } => check_rate("batches.cap.per_s", per_s),
        Pacing::Batches { .. } => Ok(()),
        Pacing::Capped(Cap { per_s, .. }) => check_rate("capped.per_s", per_s),
        Pacing::FixedRate { ios_per_s } => check_rate("fixed_rate.ios_per_s", ios_per_s),
        Pacing::Poisson { ios_per_s } => check_rate("poisson.ios_per_s", ios_per_s),
        Pacing::Burst { ios: 0, .. } => Err("burst.ios 0 does nothing".into()),
        Pacing::Burst { period_ns: 0, .. } => Err("burst.period_ns 0 is not above 0".into()),
        Pacing::Burst { .. } => Ok(()),
        Pacing::DutyCycle { on_ns: 0, .. } => Err("duty_cycle.on_ns 0 does nothing".into()),
        Pacing::DutyCycle { off_ns: 0, .. } => Err("duty_cycle.off_ns 0 is a closed loop".into()),
        Pacing::DutyCycle { on_ns, off_ns } => match on_ns.checked_add(off_ns) {
            Some(_) => Ok(()),
            None => Err(format!("duty_cycle: {on_ns} ns and {off_ns} ns exceed {} ns", u64::MAX)),
        },
    }
}

fn check_rate(field: &str, per_s: f64) -> Result<(), String> {
    if per_s > 0.0 && per_s.is_finite() {
        return Ok(());
    }
    Err(format!("{field} {per_s} is not above 0 and finite"))
}
