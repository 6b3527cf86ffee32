//! Reclaim units: streams that end at different times, in superblocks of their own or not.

use super::super::testing::model;
use super::super::{Ftl, Timeless};
use crate::placement::UnitEvent;
use crate::preset::{DataPlacement, Isolation, PageMapped};

const PAGES: u32 = 60_000;

fn placed(isolation: Isolation, ignored: bool) -> PageMapped {
    let mut model = model(1.15, 300);
    model.placement = Some(DataPlacement { handles: 4, isolation, ignored });
    model
}

/// The amplification of two streams that each go round a part of their own, one of them a tenth of the drive, in
/// turns: behind a first pass over the larger one, over a second.
fn amplification(model: &PageMapped, handles: [u16; 2]) -> f64 {
    let mut ftl = Ftl::new(model, PAGES, 42).unwrap();
    let (small, large) = (PAGES / 10, PAGES - PAGES / 10);
    let pass = |ftl: &mut Ftl| {
        for write in 0..large {
            ftl.use_handle(handles[0]).unwrap();
            ftl.write(write % small, 8, &mut Timeless).unwrap();
            ftl.use_handle(handles[1]).unwrap();
            ftl.write(small + write, 8, &mut Timeless).unwrap();
        }
        ftl.check_consistency();
    };
    pass(&mut ftl);
    let before = ftl.counters();
    pass(&mut ftl);
    let after = ftl.counters();
    (after.total() - before.total()) as f64 / (after.host - before.host) as f64
}

#[test]
fn streams_in_superblocks_of_their_own_cost_nothing_and_mixed_ones_do() {
    for isolation in [Isolation::Initially, Isolation::Persistently] {
        let own = amplification(&placed(isolation, false), [1, 2]);
        assert!((own - 1.0).abs() < 0.005, "{own}");
        let shared = amplification(&placed(isolation, false), [1, 1]);
        assert!(shared > 1.2, "{shared}");
    }
}

#[test]
fn a_drive_that_ignores_handles_does_what_it_would_without() {
    let ignoring = placed(Isolation::Initially, true);
    let without = PageMapped { placement: None, ..ignoring.clone() };
    let none = amplification(&without, [0, 0]);
    assert_eq!(amplification(&ignoring, [1, 2]).to_bits(), none.to_bits());
    assert!(none > 1.2, "{none}");
}

#[test]
fn a_handle_that_is_updated_leaves_the_rest_of_its_reclaim_unit() {
    let mut ftl = Ftl::new(&placed(Isolation::Initially, false), PAGES, 1).unwrap();
    let unit = u64::from(ftl.layout().superblock_pages) * 4096;
    ftl.use_handle(2).unwrap();
    (0..64 + 7).for_each(|page| ftl.write(page, 8, &mut Timeless).unwrap());
    assert_eq!(ftl.handle_status()[2].left_bytes, unit - 71 * 4096);
    ftl.update_handle(2, &mut Timeless).unwrap();
    ftl.update_handle(3, &mut Timeless).unwrap();
    ftl.check_consistency();
    let events: Vec<_> = ftl.unit_events().latest().copied().collect();
    let [UnitEvent::Updated { handle: 2, unwritten_bytes, .. }] = events[..] else { panic!("{events:?}") };
    assert_eq!(unwritten_bytes, unit - 128 * 4096, "whole groups are programmed");
    assert!(ftl.handle_status().iter().all(|status| status.left_bytes == unit));
}
