use std::collections::VecDeque;

use super::*;
use crate::recipe::{Expected, RECIPES};

fn all_of(recipe: Recipe) -> Vec<TracedIo> {
    let (mut reader, mut ios, mut tally) = (RecipeReader::new(recipe), Vec::new(), Tally::default());
    while reader.read(&mut ios, &mut tally).expect("no file is read") {}
    assert!(tally.is_conserved());
    assert_eq!(tally.accepted, ios.len() as u64);
    ios
}

/// Within 1 %, and the rounding of whole MB.
fn near(found: u64, expected: u64) -> bool {
    found.abs_diff(expected) * 100 <= expected + 100
}

/// I/Os of the operation, and those of them that begin where one of the last 32 ended.
fn sequential_per_10k(ios: &[TracedIo], operation: TracedOperation) -> u64 {
    let (mut ends, mut count, mut sequential) = (VecDeque::new(), 0, 0);
    for io in ios.iter().filter(|io| io.operation == operation) {
        count += 1;
        if let Some(at) = ends.iter().position(|end| *end == io.offset_bytes) {
            ends.remove(at);
            sequential += 1;
        }
        ends.push_back(io.end_bytes());
        if ends.len() > 32 {
            ends.pop_front();
        }
    }
    10_000 * sequential / count.max(1)
}

#[test]
fn each_recipe_makes_what_it_promises() {
    for (name, text) in RECIPES {
        assert!(text.len() <= 4096, "{name}: {} bytes", text.len());
        let recipe = Recipe::parse(text).expect("a shipped recipe is sound");
        assert_eq!(recipe.name, *name);
        assert_eq!(name.starts_with("like:"), !recipe.sources.is_empty(), "{name}");
        let ios = all_of(recipe.clone());
        let of = |operation| {
            let (mut count, mut bytes) = (0, 0);
            for io in ios.iter().filter(|io| io.operation == operation) {
                (count, bytes) = (count + 1, bytes + io.length_bytes);
            }
            (count, bytes / 1_000_000)
        };
        let (reads, read_mb) = of(TracedOperation::Read);
        let (writes, written_mb) = of(TracedOperation::Write);
        let Expected { reads: r, writes: w, read_mb: rm, written_mb: wm, .. } = recipe.expect;
        assert_eq!((reads, writes), (r, w), "{name}");
        assert!(near(read_mb, rm) && near(written_mb, wm), "{name}: {read_mb} and {written_mb} MB");
        for (operation, expected) in [
            (TracedOperation::Read, recipe.expect.sequential_reads_per_10k),
            (TracedOperation::Write, recipe.expect.sequential_writes_per_10k),
        ] {
            let Some(expected) = expected else { continue };
            let found = sequential_per_10k(&ios, operation);
            assert!(found.abs_diff(expected) <= 100, "{name}: {} {found}", operation.name());
        }
        let end = recipe.footprint_mib << 20;
        assert!(ios.iter().all(|io| io.end_bytes() <= end && io.offset_bytes % 4096 == 0), "{name}");
        assert!(ios.is_sorted_by_key(|io| io.issued_ns), "{name}");
        assert_eq!(ios, all_of(recipe), "{name}: another trace from the same seed");
    }
}

const SMALL: &str = r#"
name = "small"
label = "a test"
model = "none"
footprint_mib = 8
seed = 1
expect = { reads = 4, writes = 6, read_mb = 0, written_mb = 0 }

[[actor]]
name = "log"
operation = "write"
sizes_kib = [[4, 1]]
ios = 6
run_ios = 0
place_mib = [0, 4]
flush_every = 2

[[actor]]
name = "reader"
operation = "read"
sizes_kib = [[4, 1]]
ios = 4
depth = 2
run_ios = 0
place_mib = [4, 4]
after = "log"
think = { mean_us = 1000, burst_ios = 2 }
"#;

#[test]
fn flushes_bursts_and_the_order_of_actors_are_as_declared() {
    let ios = all_of(Recipe::parse(SMALL).expect("sound"));
    let words: Vec<&str> = ios.iter().map(|io| io.operation.name()).collect();
    let pair = ["write", "write", "flush"];
    assert_eq!(words[..9], [pair, pair, pair].concat());
    let last_flush_ns = ios[8].completed_ns.expect("a recipe has completions");
    // Two at once, a pause after both are completed, two at once.
    let reads: Vec<i64> = ios[9..].iter().map(|io| io.issued_ns).collect();
    assert_eq!(reads[..2], [last_flush_ns; 2]);
    assert!(reads[2] > ios[10].completed_ns.expect("a completion") && reads[2] == reads[3]);
    let places: Vec<u64> = ios[9..].iter().map(|io| io.offset_bytes).collect();
    assert_eq!(places, [4 << 20, (4 << 20) + 4096, (4 << 20) + 8192, (4 << 20) + 12288]);
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (change, to) in [
        ("after = \"log\"", "after = \"nothing\""),
        ("place_mib = [4, 4]", "place_mib = [4, 5]"),
        ("[[4, 1]]", "[[6, 1]]"),
        ("burst_ios = 2", "burst_ios = 0"),
        ("depth = 2", "depth = 0"),
        ("ios = 4\n", ""),
    ] {
        let text = SMALL.replace(change, to);
        assert_ne!(text, SMALL);
        assert!(Recipe::parse(&text).is_err(), "{to}");
    }
}
