//! The books balance, whatever happens to a drive.

use proptest::prelude::*;

use super::super::testing::model;
use super::super::{Cells, Ftl, Nand, Program};
use crate::preset::{
    DataPlacement, Frontiers, IdleWork, Isolation, Pace, PageMapped, Reduction, SlcCache, Victim, Wear,
};

/// Counts what the flash is told.
#[derive(Default)]
struct Counted {
    host: u64,
    moved: u64,
    padded: u64,
    erases: u64,
    programs: u64,
}

impl Nand for Counted {
    fn program(&mut self, program: &Program) {
        self.host += u64::from(program.host_pages);
        self.moved += u64::from(program.moved_pages);
        self.padded += u64::from(program.padded_pages);
        self.programs += 1;
        assert!(!program.dies.is_empty() && program.dies.end <= 4);
    }

    fn read_row(&mut self, first_die: u32, dies: u64, _: Cells) {
        assert!(dies != 0 && first_die + dies.ilog2() < 4);
    }

    fn erase(&mut self, _: u32) {
        self.erases += 1;
    }
}

#[derive(Clone, Debug)]
enum Act {
    WriteRandom(u16),
    WriteInOrder(u16),
    WriteOne(u16),
    Trim(u16),
    Purge,
    CloseGroup,
    UseHandle(u16),
    UpdateHandle(u16),
    FoldAll,
    Idle(u8),
    JumpStart(u8),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (1..6000_u16).prop_map(Act::WriteRandom),
        4 => (1..6000_u16).prop_map(Act::WriteInOrder),
        2 => (1..3000_u16).prop_map(Act::WriteOne),
        3 => (1..3000_u16).prop_map(Act::Trim),
        1 => Just(Act::Purge),
        2 => Just(Act::CloseGroup),
        4 => (0..3_u16).prop_map(Act::UseHandle),
        1 => (0..3_u16).prop_map(Act::UpdateHandle),
        1 => Just(Act::FoldAll),
        2 => (1..50_u8).prop_map(Act::Idle),
        1 => (1..=8_u8).prop_map(Act::JumpStart),
    ];
    prop::collection::vec(act, 1..25)
}

fn models() -> impl Strategy<Value = PageMapped> {
    let victim = prop_oneof![Just(Victim::Greedy), Just(Victim::Fifo), (1..6_u32).prop_map(Victim::Choices)];
    (victim, any::<[bool; 8]>(), 1..4_u32).prop_map(|(victim, flags, shape)| {
        let [burst, mixed, slc, reduced, wear, idle, placed, persistently] = flags;
        let (mixed, slc) = (mixed && !placed, slc && !placed);
        let mut model = model(if placed { 1.6 } else { 1.3 }, 60);
        model.geometry.dies = 4;
        model.geometry.dies_per_group = [1, 2, 4][shape as usize - 1];
        model.geometry.chunk_pages = 2;
        model.geometry.program_unit_pages = 6;
        model.collection.victim = victim;
        model.collection.pace = if burst { Pace::Burst } else { Pace::Paced };
        model.collection.frontiers = if mixed { Frontiers::Mixed } else { Frontiers::Separate };
        model.placement = placed.then_some(DataPlacement {
            handles: 3,
            isolation: if persistently { Isolation::Persistently } else { Isolation::Initially },
            ignored: false,
        });
        model.slc = slc.then_some(SlcCache {
            static_share: 0.05,
            dynamic_share: 0.6,
            bits: 3,
            program_unit_pages: 2,
            read_us: 1.0,
            program_us: 1.0,
            fold_share: 0.7,
        });
        model.reduction = reduced.then_some(Reduction { floor: 0.1, slope: 0.9 });
        model.wear = wear.then_some(Wear { mean_erases: 12.0, deviation_share: 0.4, rated_erases: 10.0 });
        model.idle = idle.then_some(IdleWork {
            delay_ms: 0.0,
            free_target_share: 0.2,
            most_valid_share: 0.9,
            folds: true,
        });
        model
    })
}

/// A drive, and what a plain list says of it.
struct Pair {
    ftl: Ftl,
    mapped: Vec<bool>,
    nand: Counted,
    state: u64,
    next: u32,
}

impl Pair {
    fn draw(&mut self, below: u32) -> u32 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) % u64::from(below)) as u32
    }

    fn write(&mut self, page: u32) {
        let units = self.draw(8) as u8 + 1;
        if self.ftl.write(page, units, &mut self.nand).is_ok() {
            self.mapped[page as usize] = true;
        }
    }

    fn apply(&mut self, act: &Act) {
        let pages = self.mapped.len() as u32;
        match act {
            Act::WriteRandom(count) => (0..*count).for_each(|_| {
                let page = self.draw(pages);
                self.write(page);
            }),
            Act::WriteInOrder(count) => (0..*count).for_each(|_| {
                self.next = (self.next + 1) % pages;
                self.write(self.next);
            }),
            Act::WriteOne(count) => (0..*count).for_each(|_| self.write(7)),
            Act::Trim(count) => (0..*count).for_each(|_| {
                let page = self.draw(pages);
                self.ftl.trim(page);
                self.mapped[page as usize] = false;
            }),
            Act::Purge => {
                self.ftl.purge();
                self.mapped.fill(false);
            }
            Act::CloseGroup => self.ftl.close_group(&mut self.nand),
            Act::UseHandle(handle) => drop(self.ftl.use_handle(*handle)),
            Act::UpdateHandle(handle) => drop(self.ftl.update_handle(*handle, &mut self.nand)),
            Act::FoldAll => {
                if self.ftl.fold_all(&mut self.nand) && !self.ftl.is_read_only() {
                    assert!(self.ftl.slc_superblocks() <= 1, "only a new one may be open");
                }
            }
            Act::Idle(steps) => {
                for _ in 0..*steps {
                    if !self.ftl.idle_step(&mut self.nand) {
                        break;
                    }
                }
            }
            Act::JumpStart(units) => {
                let dead = self.ftl.is_read_only();
                let jumped = self.ftl.jump_start(*units).is_ok();
                if !dead {
                    self.mapped.fill(jumped);
                }
            }
        }
    }

    fn check(&self, reduced: bool) {
        self.ftl.check_consistency();
        for (page, mapped) in (0..).zip(&self.mapped) {
            assert_eq!(self.ftl.lookup(page).is_some(), *mapped, "page {page}");
        }
        let pages = self.ftl.counters();
        if !reduced {
            assert_eq!(pages.host, self.nand.host);
            assert_eq!(pages.collected + pages.folded, self.nand.moved);
            assert_eq!(pages.padded, self.nand.padded);
        }
        assert!(pages.total() >= self.nand.host + self.nand.moved + self.nand.padded);
        assert!(
            pages.total() <= self.nand.host + self.nand.moved + self.nand.padded + 3 * self.nand.programs
        );
        assert!(self.ftl.erases() >= self.nand.erases);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn books_balance_under_every_policy_and_mode(model in models(), acts in acts(), state: u64) {
        let ftl = Ftl::new(&model, 5000, state).unwrap();
        let mut pair = Pair { ftl, mapped: vec![false; 5000], nand: Counted::default(), state, next: 0 };
        for act in &acts {
            pair.apply(act);
            pair.check(model.reduction.is_some());
        }
    }
}

#[test]
fn programs_hold_what_a_group_holds() {
    struct Whole(u32);
    impl Nand for Whole {
        fn program(&mut self, program: &Program) {
            assert_eq!(program.host_pages + program.moved_pages + program.padded_pages, self.0);
            assert_eq!(program.dies.len(), 64);
        }
        fn read_row(&mut self, _: u32, _: u64, _: Cells) {}
        fn erase(&mut self, _: u32) {}
    }
    let mut ftl = Ftl::new(&model(1.28, 100), 50_000, 1).unwrap();
    let mut nand = Whole(64);
    for write in 0..200_000_u32 {
        ftl.write(write.wrapping_mul(2_654_435_761) % 50_000, 8, &mut nand).unwrap();
        if write % 1000 == 0 {
            ftl.close_group(&mut nand);
        }
    }
}

#[test]
fn pages_in_an_open_group_are_buffered_and_chunks_are_shared_by_neighbors() {
    let mut model = model(1.28, 100);
    model.geometry.dies = 4;
    model.geometry.dies_per_group = 2;
    model.geometry.chunk_pages = 2;
    model.geometry.program_unit_pages = 4;
    let mut ftl = Ftl::new(&model, 20_000, 1).unwrap();
    for page in 0..11 {
        ftl.write(page, 8, &mut super::Timeless).unwrap();
    }
    let places: Vec<_> = (0..11).map(|page| ftl.lookup(page).unwrap()).collect();
    assert!(places[..8].iter().all(|place| !place.buffered));
    assert!(places[8..].iter().all(|place| place.buffered));
    let dies: Vec<u32> = places.iter().map(|place| place.die).collect();
    assert_eq!(dies, [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3]);
    assert!((0..5).all(|pair| places[2 * pair].chunk == places[2 * pair + 1].chunk));
    assert!((0..5).all(|pair| places[2 * pair + 1].chunk != places[2 * pair + 2].chunk));
    ftl.close_group(&mut super::Timeless);
    assert!(!ftl.lookup(10).unwrap().buffered);
    assert_eq!(ftl.counters().padded, 5);
    assert_eq!(ftl.purge(), 1, "one superblock was used");
    assert_eq!(ftl.lookup(10), None);
}
