use super::*;
use crate::preset::Power;

/// A controller with a time constant of 40 s: 60 K above the air at 6 W.
fn preset() -> preset::Thermal {
    preset::Thermal {
        ambient_c: 30.0,
        controller_k_per_w: 10.0,
        controller_j_per_k: 4.0,
        nand_k_per_w: 3.0,
        nand_j_per_k: 70.0,
        sensor_lag_s: 3.0,
        sensor_offset_c: -7.0,
        warning_c: Some(60.0),
        critical_c: Some(66.0),
        throttle: vec![Throttle { from_c: 75.0, hysteresis_k: 4.0, factor: 2.5 }],
    }
}

const POWER: Power = Power {
    idle_w: 1.0,
    command_uj: 500.0,
    byte_nj: 0.0,
    program_uj: 0.0,
    read_uj: 0.0,
    erase_uj: 0.0,
    controller_share: 1.0,
};

/// One command takes 100 us: 10 kIOPS and 6 W, or 4 kIOPS and 3 W when throttled.
const COMMAND_PS: Ps = 100_000_000;

/// A drive with nothing but a front end, always busy.
struct Busy {
    thermal: ThermalState,
    meter: Meter,
    activity: Activity,
    now_ps: Ps,
}

impl Busy {
    fn new(preset: &preset::Thermal, scale: Scale) -> Self {
        Self {
            thermal: ThermalState::new(preset, scale),
            meter: Meter::new(&POWER),
            activity: Activity::default(),
            now_ps: 0,
        }
    }

    fn command(&mut self) {
        self.thermal.advance(self.now_ps, &self.activity, &mut self.meter);
        self.activity.commands += 1;
        self.now_ps += self.thermal.stretched_ps(COMMAND_PS);
    }

    fn run_until(&mut self, reached: impl Fn(&ThermalState) -> bool) -> Ps {
        while !reached(&self.thermal) {
            self.command();
        }
        self.now_ps
    }
}

fn seconds(ps: Ps) -> f64 {
    ps as f64 / PS_PER_S as f64
}

fn assert_within(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() < share, "{value} and not {expected}");
}

#[test]
fn decay_is_the_exponential_function() {
    for x in [0.0, 1e-9, 1e-4, 0.3, 0.5, 0.51, 1.0, 7.7, 300.0] {
        let expected = f64::exp(-x);
        // Each squaring doubles the rounding error of the one before.
        assert!((decay(x) - expected).abs() <= 1e-15 * (1.0 + 4.0 * x) * expected, "{x}");
    }
    assert_eq!(decay(1e6), 0.0);
}

#[test]
fn throttling_begins_when_the_closed_formula_says() {
    for factor in [1, 8] {
        let scale = Scale::new(factor).unwrap();
        let mut drive = Busy::new(&preset(), scale);
        let begin_ps = drive.run_until(|thermal| thermal.level() > 0);
        let nominal_s = scale.nominal_ns(begin_ps) as f64 * 1e-9;
        // tau ln((Tinf - T0) / (Tinf - Th)), Tinf = 30 + 6 x 10.
        assert_within(nominal_s, 40.0 * (60.0_f64 / 15.0).ln(), 0.01);
        assert_eq!(drive.thermal.throttle_events(), 1);
    }
}

#[test]
fn duty_cycle_and_average_rate_follow_the_closed_formulas() {
    let mut drive = Busy::new(&preset(), Scale::ONE);
    let (unthrottled, throttled) = (|t: &ThermalState| t.level() == 0, |t: &ThermalState| t.level() > 0);
    drive.run_until(throttled);
    drive.run_until(unthrottled);
    let (start_ps, start_commands) = (drive.now_ps, drive.activity.commands);
    let mut on_ps = 0;
    const CYCLES: u32 = 20;
    for _ in 0..CYCLES {
        let from_ps = drive.now_ps;
        on_ps += drive.run_until(throttled) - from_ps;
        drive.run_until(unthrottled);
    }
    // Full speed goes on towards 90 C from 71 to 75, throttled speed towards 60 C from 75 to 71.
    let on_s = 40.0 * (19.0_f64 / 15.0).ln();
    let off_s = 40.0 * (15.0_f64 / 11.0).ln();
    let elapsed_s = seconds(drive.now_ps - start_ps);
    let iops = (drive.activity.commands - start_commands) as f64 / elapsed_s;
    assert_within(elapsed_s, f64::from(CYCLES) * (on_s + off_s), 0.01);
    assert_within(seconds(on_ps) / elapsed_s, on_s / (on_s + off_s), 0.01);
    assert_within(iops, (10_000.0 * on_s + 4_000.0 * off_s) / (on_s + off_s), 0.01);
    assert_eq!(drive.thermal.throttle_events(), u64::from(CYCLES) + 1);
}

#[test]
fn the_sensor_is_behind_by_its_lag_and_beside_by_its_offset() {
    let mut drive = Busy::new(&preset(), Scale::ONE);
    let mut truth = vec![];
    while drive.now_ps < 30 * PS_PER_S {
        drive.command();
        truth.push((drive.now_ps, drive.thermal.true_temperatures_c().0));
    }
    // A warming that slows down: the sensor lies between now and one lag ago, and rounds to a degree.
    let lagged = truth.iter().find(|(at_ps, _)| *at_ps >= 27 * PS_PER_S).unwrap().1;
    let sensed = f64::from(drive.thermal.sensor_c()) + 7.0;
    let now = truth.last().unwrap().1;
    assert!(sensed > lagged - 1.0 && sensed < now, "{lagged} {sensed} {now}");
    assert!(now - lagged > 2.0, "the lag can't be seen: {now} {lagged}");

    let immediate = preset::Thermal { sensor_lag_s: 0.0, sensor_offset_c: 0.0, ..preset() };
    let mut drive = Busy::new(&immediate, Scale::ONE);
    for _ in 0..100_000 {
        drive.command();
        let truth = drive.thermal.true_temperatures_c().0;
        assert!((f64::from(drive.thermal.sensor_c()) - truth).abs() <= 0.5);
    }
}

#[test]
fn time_above_the_thresholds_is_that_of_the_sensor() {
    let calm = preset::Thermal { throttle: vec![], sensor_lag_s: 0.0, sensor_offset_c: 0.0, ..preset() };
    let mut drive = Busy::new(&calm, Scale::ONE);
    while drive.now_ps < 100 * PS_PER_S {
        drive.command();
    }
    // Whole degrees: 60 is sensed from 59.5 on. T = 90 - 60 exp(-t / 40).
    let reached_s = |celsius: f64| 40.0 * (60.0 / (90.0 - celsius)).ln();
    assert_within(drive.thermal.warning_s(), reached_s(65.5) - reached_s(59.5), 0.01);
    assert_within(drive.thermal.critical_s(), 100.0 - reached_s(65.5), 0.01);
}

#[test]
fn levels_rise_one_above_the_other_and_fall_below_their_hysteresis() {
    let steep = preset::Thermal {
        throttle: vec![
            Throttle { from_c: 50.0, hysteresis_k: 5.0, factor: 1.5 },
            Throttle { from_c: 55.0, hysteresis_k: 8.0, factor: 3.0 },
        ],
        ..preset()
    };
    let mut thermal = ThermalState::new(&steep, Scale::ONE);
    let mut level_at = |celsius: f64| {
        thermal.controller.celsius = celsius;
        thermal.throttle();
        thermal.level()
    };
    let path = [49.9, 50.0, 45.1, 44.9, 56.0, 47.1, 46.9, 45.0, 44.9, 60.0, 30.0];
    assert_eq!(path.map(&mut level_at), [0, 1, 1, 0, 2, 2, 1, 1, 0, 2, 0]);
    assert_eq!(thermal.throttle_events(), 3);
    assert_eq!(thermal.stretched_ps(1001), 1001);
    thermal.level = 2;
    assert_eq!(thermal.stretched_ps(1001), 3003);
}

#[test]
fn an_idle_time_cools_in_one_call_as_in_many() {
    let mut once = Busy::new(&preset(), Scale::ONE);
    once.run_until(|thermal| thermal.level() > 0);
    let mut often = Busy { thermal: once.thermal.clone(), meter: once.meter.clone(), ..once };
    let end_ps = often.now_ps + 60 * PS_PER_S;
    once.thermal.advance(end_ps, &often.activity, &mut once.meter);
    while often.now_ps < end_ps {
        often.now_ps += 5_000_000_000;
        often.thermal.advance(often.now_ps, &often.activity, &mut often.meter);
    }
    assert_eq!(once.thermal.true_temperatures_c(), often.thermal.true_temperatures_c());
    // Towards 40 C, where 1 W idles.
    assert_within(once.thermal.true_temperatures_c().0, 40.0 + 35.0 * (-1.5_f64).exp(), 0.001);
}

#[test]
fn long_silence_costs_no_more_than_it_takes_to_cool_down() {
    let preset = preset::Thermal { ambient_c: 70.0, critical_c: Some(300.0), ..preset() };
    let mut busy = Busy::new(&preset, Scale::new(100_000).expect("not 0"));
    // 100 days of virtual time in ticks of 100 ns: 86 million million of them.
    let end_ps = 100 * 86_400 * PS_PER_S;
    busy.thermal.advance(end_ps, &busy.activity, &mut busy.meter);
    assert!(busy.thermal.next_tick_ps() > end_ps && busy.thermal.next_tick_ps() <= end_ps + 100_000);
    assert!((busy.thermal.true_temperatures_c().0 - 80.0).abs() < 1e-9);
    // Always above the warning threshold, once the sensor has come so far.
    assert!((busy.thermal.warning_s() / (100.0 * 86_400.0) - 1.0).abs() < 1e-6);
    assert_eq!(busy.thermal.throttle_events(), 1);
}

#[test]
fn silence_in_one_piece_and_in_many_is_the_same() {
    let (mut whole, mut pieces) = (Busy::new(&preset(), Scale::ONE), Busy::new(&preset(), Scale::ONE));
    for busy in [&mut whole, &mut pieces] {
        busy.run_until(|thermal| thermal.level() > 0);
    }
    let (begin_ps, end_ps) = (whole.now_ps, whole.now_ps + 20_000 * PS_PER_S);
    whole.thermal.advance(end_ps, &whole.activity, &mut whole.meter);
    for piece in 1..=2000 {
        pieces.thermal.advance(begin_ps + piece * 10 * PS_PER_S, &pieces.activity, &mut pieces.meter);
    }
    assert_eq!(format!("{:?}", whole.thermal), format!("{:?}", pieces.thermal));
}
