use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::workload::stimulus::{Pacing, Placement, SteadyFigure, SteadyRule};

const LIMITS: Limits =
    Limits { capacity_bytes: 1 << 30, sector_bytes: 512, tc: 4, qd: 32, block_size_bytes: 1 << 20 };

fn step() -> Value {
    json!({ "streams": [stream(4)], "stop": {"duration_ns": 1000} })
}

fn stream(tc: u32) -> Value {
    json!({
        "stimulus": {
            "block_sizes": [{"bytes": 4096, "weight": 1}],
            "operations": {"read": 65, "write": 35},
            "random_pct": 100, "tc": tc, "qd": 32,
            "range_start_bytes": 0, "range_end_bytes": 1_073_741_824
        }
    })
}

/// The good step with one value changed, by its way from the step.
fn changed(way: &str, value: Value) -> String {
    let mut step = step();
    let (first, rest) = way.split_once('.').unwrap_or((way, ""));
    let stream = [first == "stimulus", first == "bounds"].contains(&true);
    let from = if stream { &mut step["streams"][0] } else { &mut step };
    let names = [first].into_iter().chain(rest.split('.').filter(|name| !name.is_empty()));
    let place = names.fold(from, |place, name| &mut place[name]);
    *place = value;
    json!([step]).to_string()
}

fn refusal(way: &str, value: Value) -> String {
    parse_program(&changed(way, value.clone()), &LIMITS).expect_err(&format!("{way} = {value}")).to_string()
}

fn is_accepted(way: &str, value: Value) {
    parse_program(&changed(way, value.clone()), &LIMITS).unwrap_or_else(|error| panic!("{value}: {error}"));
}

#[test]
fn a_good_program_is_taken_as_it_is() {
    let program = parse_program(&changed("stimulus.qd", json!(16)), &LIMITS).unwrap();
    let stimulus = &program[0].streams[0].stimulus;
    assert_eq!((stimulus.qd, stimulus.operations.read), (16, 65));
    assert_eq!(stimulus.placement, Placement::Uniform);
    assert_eq!(stimulus.pacing, Pacing::ClosedLoop);
    assert_eq!(program[0].stop.duration_ns, Some(1000));
}

#[test]
fn the_error_names_the_step() {
    let mut second = step();
    second["streams"][0]["stimulus"]["tc"] = json!(0);
    let error = parse_program(&json!([step(), second]).to_string(), &LIMITS).unwrap_err();
    assert_eq!(error.to_string(), "step 2: TC 0 is not within 1 to 4");
    second["streams"][0]["stimulus"]["tc"] = json!(-1);
    let error = parse_program(&json!([step(), second]).to_string(), &LIMITS).unwrap_err();
    assert_eq!(error.to_string(), "step 2: invalid value: integer `-1`, expected u32");
}

#[test]
fn each_nonsense_of_a_pattern_is_refused_by_name() {
    let sizes = |sizes: &[(u64, u64)]| {
        sizes.iter().map(|(bytes, weight)| json!({"bytes": bytes, "weight": weight})).collect::<Value>()
    };
    for (field, value, reason) in [
        ("block_sizes", sizes(&[(1000, 1)]), "1000 B is not a multiple of the sector size 512 B"),
        ("block_sizes", sizes(&[(0, 1)]), "0 B is not a multiple of the sector"),
        ("block_sizes", sizes(&[(512, 1), (2_097_152, 1)]), "2097152 B exceeds the buffers of 1048576 B"),
        ("block_sizes", sizes(&[]), "block_sizes: 0 are not 1 to 64"),
        ("block_sizes", sizes(&[(512, 1); 65]), "block_sizes: 65 are not 1 to 64"),
        ("block_sizes", sizes(&[(512, 0), (4096, 0)]), "block_sizes: the weights sum to 0"),
        ("block_sizes", sizes(&[(512, 10_000), (4096, 1)]), "sum to 10001, more than 10000"),
        ("block_sizes", sizes(&[(512, 1 << 32)]), "step 1: invalid value: integer `4294967296`"),
        ("operations", json!({}), "operations: the weights sum to 0"),
        ("operations", json!({"read": 9_999, "trim": 2}), "operations: the weights, reduced, sum to 10001"),
        ("operations", json!({"peek": 1}), "unknown field"),
        ("random_pct", json!(101), "random_pct 101 is more than all"),
        ("tc", json!(0), "TC 0 is not within 1 to 4"),
        ("tc", json!(5), "TC 5 is not within 1 to 4"),
        ("qd", json!(0), "QD 0 is not within 1 to 32"),
        ("qd", json!(33), "QD 33 is not within 1 to 32"),
        ("range_end_bytes", json!(2_147_483_648_u64), "does not lie within 1073741824 B"),
        ("range_start_bytes", json!(1_073_741_824), "does not lie within"),
        ("range_start_bytes", json!(100), "does not lie on sectors of 512 B"),
        ("range_end_bytes", json!(8192), "no block of 4096 B for each thread"),
        ("alignment_bytes", json!(0), "alignment_bytes 0 is not a multiple of the sector size 512 B"),
        ("alignment_bytes", json!(4000), "alignment_bytes 4000 is not a multiple"),
        ("stride_bytes", json!(5000), "stride_bytes 5000 is not a multiple of the sector"),
        ("stride_bytes", json!(3584), "stride_bytes 3584 is less than the largest block size 4096 B"),
        ("access_pattern", json!("random"), "unknown field"),
        ("color", json!(1), "unknown field"),
    ] {
        let error = refusal(&format!("stimulus.{field}"), value.clone());
        assert!(error.contains(reason), "{field} = {value}: {error}");
    }
}

/// They move no data.
#[test]
fn trims_may_be_larger_than_the_buffers() {
    let larger = |operations: Value| {
        let mut step = step();
        step["streams"][0]["stimulus"]["block_sizes"] = json!([{"bytes": 64 << 20, "weight": 1}]);
        step["streams"][0]["stimulus"]["operations"] = operations;
        parse_program(&json!([step]).to_string(), &LIMITS).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(larger(json!({"trim": 1})), Ok(()));
    assert!(larger(json!({"trim": 1, "read": 1})).unwrap_err().contains("exceeds the buffers"));
}

#[test]
fn ranges_without_a_place_are_refused() {
    let refusal = |fields: &[(&str, Value)]| {
        let mut step = step();
        fields.iter().for_each(|(field, value)| step["streams"][0]["stimulus"][field] = value.clone());
        parse_program(&json!([step]).to_string(), &LIMITS).unwrap_err().to_string()
    };
    let unaligned =
        [("tc", json!(1)), ("range_start_bytes", json!(512)), ("range_end_bytes", json!(4096 + 512))];
    let error = refusal(&unaligned);
    assert!(error.contains("the range, 512 to 4608, holds no block of 4096 B aligned to 4096 B"), "{error}");
    let error = refusal(&[("stride_bytes", json!(1_u64 << 29)), ("random_pct", json!(50))]);
    assert!(error.contains("no stride of 536870912 B for each thread"), "{error}");
    let error = refusal(&[("alignment_bytes", json!(1 << 30)), ("range_start_bytes", json!(512))]);
    assert!(error.contains("holds no block of 4096 B aligned to 1073741824 B"), "{error}");
}

#[test]
fn each_nonsense_of_a_placement_is_refused_by_name() {
    let zone = |weight: u32, range_pct: f64| json!({"weight": weight, "range_pct": range_pct});
    for (value, reason) in [
        (json!({"zones": []}), "zones: 0 are not 1 to 64"),
        (json!({"zones": vec![zone(1, 1.0); 65]}), "zones: 65 are not 1 to 64"),
        (json!({"zones": [zone(0, 100.0)]}), "zones: the weights sum to 0"),
        (json!({"zones": [zone(1, 50.0), zone(1, 49.9)]}), "zones.range_pct sum to 99.9 and not to 100"),
        (json!({"zones": [zone(1, 150.0), zone(1, -50.0)]}), "zones.range_pct 150 is not within 0 to 100"),
        (
            json!({"zones": [zone(1, 0.0001), zone(1, 99.9999)]}),
            "zone 1, 0 to 1024, holds no block of 4096 B",
        ),
        (json!({"zipf": {"theta": 0.0}}), "zipf.theta 0 is not above 0"),
        (json!({"zipf": {"theta": -1.2}}), "zipf.theta -1.2 is not above 0"),
        (json!({"pareto": {"h": 0.0}}), "pareto.h 0 is not between 0 and 0.5"),
        (json!({"pareto": {"h": 0.5}}), "pareto.h 0.5 is not between 0 and 0.5"),
        (json!({"normal": {"mean_pct": -1.0, "deviation_pct": 5.0}}), "normal.mean_pct -1 is not within"),
        (json!({"normal": {"mean_pct": 101.0, "deviation_pct": 5.0}}), "normal.mean_pct 101 is not within"),
        (
            json!({"normal": {"mean_pct": 50.0, "deviation_pct": 0.0}}),
            "normal.deviation_pct 0 is not above 0",
        ),
        (json!({"normal": {"mean_pct": 50.0, "deviation_pct": 1e6}}), "normal.deviation_pct 1000000 is not"),
        (json!({"segments": {"count": 0, "bytes": 4096}}), "segments.count 0 is not within 1 to 65536"),
        (json!({"segments": {"count": 65_537, "bytes": 4096}}), "segments.count 65537 is not within"),
        (json!({"segments": {"count": 1, "bytes": 6144}}), "segments.bytes 6144 is not a multiple"),
        (json!({"segments": {"count": 1, "bytes": 0}}), "segments.bytes 0 is less than the largest"),
        (
            json!({"segments": {"count": 3, "bytes": 1 << 29}}),
            "segments: 3 of 536870912 B do not fit the range's aligned 1073741824 B",
        ),
        (json!({"unique_lbas": {"bytes": 4095}}), "unique_lbas.bytes 4095 is less than the largest"),
        (
            json!({"unique_lbas": {"bytes": 1_073_745_920}}),
            "unique_lbas.bytes 1073745920 exceeds the range's 1073741824 B",
        ),
        (json!("zigzag"), "unknown variant"),
    ] {
        let error = refusal("stimulus.placement", value.clone());
        assert!(error.contains(reason), "{value}: {error}");
    }
    let mut mixed = step();
    mixed["streams"][0]["stimulus"]["random_pct"] = json!(99);
    mixed["streams"][0]["stimulus"]["placement"] = json!({"unique_lbas": {"bytes": 4096}});
    let error = parse_program(&json!([mixed]).to_string(), &LIMITS).unwrap_err().to_string();
    assert!(error.contains("unique_lbas limits random accesses: random_pct 99 is not 100"), "{error}");
}

#[test]
fn placements_at_their_limits_are_accepted() {
    for value in [
        json!({"segments": {"count": 2, "bytes": 1 << 29}}),
        json!({"segments": {"count": 65_536, "bytes": 16_384}}),
        json!({"unique_lbas": {"bytes": 1 << 30}}),
        json!({"unique_lbas": {"bytes": 4096}}),
        json!({"zones": [{"weight": 1, "range_pct": 100.0 - 5e-7}]}),
        json!({"zones": vec![json!({"weight": 1, "range_pct": 100.0 / 3.0}); 3]}),
        json!({"zones": [{"weight": 0, "range_pct": 50}, {"weight": 7, "range_pct": 50}]}),
        json!({"zipf": {"theta": 1e300}}),
        json!({"pareto": {"h": 1e-300}}),
        json!({"normal": {"mean_pct": 100, "deviation_pct": 1e-300}}),
    ] {
        is_accepted("stimulus.placement", value);
    }
}

#[test]
fn each_nonsense_of_pacing_and_data_is_refused_by_name() {
    let reducible = |entropy_pct: f64, duplicate_pct: f64, granule_bytes: u32| {
        json!({"reducible": {
            "entropy_pct": entropy_pct, "duplicate_pct": duplicate_pct, "granule_bytes": granule_bytes
        }})
    };
    for (field, value, reason) in [
        ("pacing", json!({"fixed_rate": {"ios_per_s": 0}}), "fixed_rate.ios_per_s 0 is not above 0"),
        ("pacing", json!({"fixed_rate": {"ios_per_s": -5.5}}), "fixed_rate.ios_per_s -5.5 is not above 0"),
        ("pacing", json!({"poisson": {"ios_per_s": 0}}), "poisson.ios_per_s 0 is not above 0"),
        ("pacing", json!({"burst": {"ios": 0, "period_ns": 1}}), "burst.ios 0 does nothing"),
        ("pacing", json!({"burst": {"ios": 1, "period_ns": 0}}), "burst.period_ns 0 is not above 0"),
        ("pacing", json!({"duty_cycle": {"on_ns": 0, "off_ns": 1}}), "duty_cycle.on_ns 0 does nothing"),
        ("pacing", json!({"duty_cycle": {"on_ns": 1, "off_ns": 0}}), "duty_cycle.off_ns 0 is a closed loop"),
        ("pacing", json!({"duty_cycle": {"on_ns": u64::MAX, "off_ns": 1}}), "exceed 18446744073709551615 ns"),
        ("pacing", json!("sometimes"), "unknown variant"),
        ("data", json!({"pattern": []}), "pattern: 0 bytes are not repeated"),
        ("data", reducible(-0.1, 0.0, 512), "reducible.entropy_pct -0.1 is not within 0 to 100"),
        ("data", reducible(50.0, 100.5, 512), "reducible.duplicate_pct 100.5 is not within 0 to 100"),
        ("data", reducible(50.0, 0.0, 0), "reducible.granule_bytes 0 is not a multiple of the sector size"),
        (
            "data",
            reducible(50.0, 0.0, 100),
            "reducible.granule_bytes 100 is not a multiple of the sector size",
        ),
        ("data", reducible(50.0, 0.0, 1 << 21), "reducible.granule_bytes 2097152 exceeds the buffers"),
        ("data", json!("noise"), "unknown variant"),
    ] {
        let error = refusal(&format!("stimulus.{field}"), value.clone());
        assert!(error.contains(reason), "{field} = {value}: {error}");
    }
}

#[test]
fn each_nonsense_of_a_stop_is_refused_by_name() {
    let steady = |window_ns: u64, windows: u32, excursion_pct: f64, slope_pct: f64| {
        json!({"steady": {
            "figure": "iops", "window_ns": window_ns, "windows": windows,
            "excursion_pct": excursion_pct, "slope_pct": slope_pct
        }})
    };
    for (value, reason) in [
        (json!({"duration_ns": 0}), "stop.duration_ns 0 does nothing"),
        (json!({"amount_bytes": 0}), "stop.amount_bytes 0 does nothing"),
        (json!({"duration_ns": 5, "ios": 0}), "stop.ios 0 does nothing"),
        (json!({}), "nothing ends the step"),
        (json!({"at_least_ns": 5}), "nothing ends the step"),
        (json!({"rounds": 5}), "unknown field"),
        (steady(0, 5, 20.0, 10.0), "stop.steady.window_ns 0 is not above 0"),
        (steady(1, 1, 20.0, 10.0), "stop.steady.windows 1 is not within 2 to 10000"),
        (steady(1, 10_001, 20.0, 10.0), "stop.steady.windows 10001 is not within"),
        (steady(1, 5, -1.0, 10.0), "stop.steady.excursion_pct -1 is not at least 0"),
        (steady(1, 5, 20.0, -1.0), "stop.steady.slope_pct -1 is not at least 0"),
        (json!({"steady": {"figure": "mood"}}), "unknown variant"),
    ] {
        let error = refusal("stop", value.clone());
        assert!(error.contains(reason), "{value}: {error}");
    }
    is_accepted("stop", steady(1, 2, 0.0, 0.0));
    is_accepted("ramp_ns", json!(u64::MAX));
}

#[test]
fn a_step_without_a_stimulus_needs_a_duration() {
    let idle = |stop: Value| parse_program(&json!([{"streams": [], "stop": stop}]).to_string(), &LIMITS);
    assert!(idle(json!({"duration_ns": 7})).unwrap()[0].is_idle());
    let error = idle(json!({"ios": 7})).unwrap_err().to_string();
    assert!(error.contains("without a stimulus ends by stop.duration_ns only"), "{error}");
}

#[test]
fn streams_share_the_threads_and_end_each_for_itself() {
    let mut thinking = stream(1);
    thinking["share"] = json!(1);
    thinking["stimulus"]["pacing"] = json!({"think_time": {"think_ns": 1}});
    let refusal = |streams: Value, stop: Value| {
        let program = json!([{"streams": streams, "stop": stop}]).to_string();
        parse_program(&program, &LIMITS).err().map(|error| error.to_string())
    };
    let bounded = |bounds: Value| {
        let mut bounded = stream(2);
        bounded["bounds"] = bounds;
        bounded
    };
    let (ns, ios) = (json!({"duration_ns": 5}), json!({"ios": 5}));
    assert_eq!(refusal(json!([stream(2), stream(2)]), ns.clone()), None);
    assert_eq!(refusal(json!([bounded(ns.clone()), bounded(ios.clone())]), json!({})), None);
    let mut wrong = stream(1);
    wrong["stimulus"]["qd"] = json!(33);
    for (streams, stop, reason) in [
        (json!([stream(2), stream(3)]), ns.clone(), "TC 5 of all streams is not within 1 to 4"),
        (json!([stream(2), wrong]), ns.clone(), "stream 2: QD 33 is not within 1 to 32"),
        (json!([stream(2), stream(2)]), ios.clone(), "an amount or a number of I/Os ends one stream"),
        (json!([bounded(ios.clone()), stream(2)]), json!({}), "stop: nothing ends the step"),
        (json!([bounded(json!({"ios": 0}))]), ns.clone(), "bounds.ios 0 does nothing"),
        (json!([bounded(ios)]), json!({"duration_ns": 5, "at_least_ns": 5}), "stop.at_least_ns goes with no"),
        (json!([thinking]), ns.clone(), "share goes with no duty cycle and no think time"),
        (json!(vec![stream(1); 65]), ns, "65 streams are more than 64"),
    ] {
        let error = refusal(streams, stop).expect(reason);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn an_amount_does_not_end_a_step_of_flushes() {
    let mut flushes = step();
    flushes["streams"][0]["stimulus"]["operations"] = json!({"flush": 1, "fsync": 1});
    flushes["stop"] = json!({"amount_bytes": 1 << 20});
    let error = parse_program(&json!([flushes]).to_string(), &LIMITS).unwrap_err().to_string();
    assert!(error.contains("stop.amount_bytes never ends a step of flushes"), "{error}");
    flushes["stop"]["ios"] = json!(5);
    parse_program(&json!([flushes]).to_string(), &LIMITS).unwrap();
}

#[test]
fn what_json_cannot_say_is_refused_too() {
    let good: Program = serde_json::from_value(json!([step()])).unwrap();
    let refused = |change: &dyn Fn(&mut Step)| {
        let mut program = good.clone();
        change(&mut program[0]);
        check_program(&program, &LIMITS).is_err()
    };
    for nan in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for placement in [
            Placement::Zipf { theta: nan },
            Placement::Pareto { h: nan },
            Placement::Normal { mean_pct: nan, deviation_pct: 1.0 },
            Placement::Normal { mean_pct: 50.0, deviation_pct: nan },
            Placement::Zones(vec![super::super::Zone { weight: 1, range_pct: nan }]),
        ] {
            assert!(refused(&|step| step.streams[0].stimulus.placement = placement.clone()));
        }
        for pacing in [Pacing::FixedRate { ios_per_s: nan }, Pacing::Poisson { ios_per_s: nan }] {
            assert!(refused(&|step| step.streams[0].stimulus.pacing = pacing));
        }
        for (entropy_pct, duplicate_pct) in [(nan, 0.0), (0.0, nan)] {
            let data = super::super::Data::Reducible { entropy_pct, duplicate_pct, granule_bytes: 512 };
            assert!(refused(&|step| step.streams[0].stimulus.data = data.clone()));
        }
        for (excursion_pct, slope_pct) in [(nan, 0.0), (0.0, nan)] {
            let figure = SteadyFigure::Iops;
            let rule = SteadyRule { figure, window_ns: 1, windows: 2, excursion_pct, slope_pct };
            assert!(refused(&|step| step.stop.steady = Some(rule)));
        }
    }
    assert!(!refused(&|_| ()));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,200}") {
        let _ = parse_program(&text, &LIMITS);
    }

    #[test]
    fn no_number_makes_the_check_panic(
        field in prop::sample::select(vec![
            "stimulus.tc", "stimulus.qd", "stimulus.range_start_bytes", "stimulus.range_end_bytes",
            "stimulus.alignment_bytes", "stimulus.stride_bytes", "stop.amount_bytes", "stop.ios", "ramp_ns",
        ]),
        value in prop_oneof![any::<u64>(), any::<u32>().prop_map(u64::from), 0..5000_u64],
        random_pct in 0..100,
    ) {
        let mut step: Value = serde_json::from_str(&changed(field, json!(value))).unwrap();
        step[0]["streams"][0]["stimulus"]["random_pct"] = json!(random_pct);
        let huge = Limits { capacity_bytes: u64::MAX, tc: u32::MAX, qd: u32::MAX, ..LIMITS };
        let _ = parse_program(&step.to_string(), &huge);
    }
}

#[test]
fn the_seeds_of_the_fuzz_targets_are_good_programs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = std::fs::read_to_string(&path).unwrap();
            parse_program(&text, &LIMITS).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            seeds += 1;
        }
    }
    assert!(seeds >= 8, "{seeds} seeds");
}
