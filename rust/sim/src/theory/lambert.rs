//! The function that solves `w e^w = x`.

/// Its upper branch, for `x` from `-1/e` to 0, where write amplification needs it.
///
/// # Panics
/// In debug builds if `x` is outside.
#[must_use]
pub fn lambert_w0(x: f64) -> f64 {
    debug_assert!((-(-1.0_f64).exp() - 1e-15..=0.0).contains(&x), "{x}");
    // Near the branch point a series in the square root of the distance; then Halley's method.
    let distance = (2.0 * (1.0 + x * std::f64::consts::E)).max(0.0).sqrt();
    let mut w = -1.0 + distance - distance * distance / 3.0 + 11.0 / 72.0 * distance.powi(3);
    for _ in 0..50 {
        let power = w.exp();
        let excess = w * power - x;
        if w + 1.0 < 1e-9 {
            return w;
        }
        let step = excess / (power * (w + 1.0) - (w + 2.0) * excess / (2.0 * (w + 1.0)));
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::lambert_w0;

    #[test]
    fn values_of_scipy_are_reproduced() {
        for (x, expected) in [
            (0.0, 0.0),
            (-0.1, -0.111_832_559_158_962_97),
            (-0.2, -0.259_171_101_819_073_77),
            (-0.3, -0.489_402_227_180_214_9),
            (-0.36, -0.806_084_315_970_817_4),
            (-0.3678, -0.979_360_714_957_825_8),
        ] {
            assert!((lambert_w0(x) - expected).abs() < 1e-11, "{x}: {}", lambert_w0(x));
        }
    }

    #[test]
    fn it_solves_its_equation() {
        for step in 0..1000 {
            let w = -f64::from(step) / 1001.0;
            assert!((lambert_w0(w * w.exp()) - w).abs() < 1e-7, "{w}");
        }
    }
}
