//! Heat, energy, and what the drive tells about itself.

use openpts_core::engine::Spent;

use super::PageMappedDrive;
use super::heating::Heating;
use crate::drive::PAGE_BYTES;
use crate::power::Activity;
use crate::smart::{Sensed, Smart};
use crate::time::Ps;

impl PageMappedDrive {
    fn activity(&self) -> Activity {
        let work = self.back_end.flash.work();
        Activity {
            commands: self.commands,
            bytes: self.host.read_bytes + self.host.write_bytes,
            programs: work.programs,
            reads: work.reads,
            erases: work.erases,
        }
    }

    /// Let temperatures follow what was done, and the front end follow them.
    #[cold]
    pub(super) fn tick(&mut self, now_ps: Ps) {
        let activity = self.activity();
        let Some(Heating { meter, thermal: Some(thermal) }) = &mut self.heating else { return };
        thermal.advance(now_ps, &activity, meter);
        self.front_end.throttle(thermal.factor_q16());
        self.next_tick_ps = thermal.next_tick_ps();
    }

    /// What the sensor says at a moment that may lie ahead of the last one that the drive has simulated.
    pub(super) fn sensed_at(&self, now_ps: Ps) -> Option<Sensed> {
        let Heating { meter, thermal } = self.heating.as_ref()?;
        let thermal = thermal.as_ref()?;
        if now_ps < thermal.next_tick_ps() {
            return Some(thermal.sensed());
        }
        // On copies: for the drive itself, time passes only when something is done.
        let (mut meter, mut thermal) = (meter.clone(), thermal.clone());
        thermal.advance(now_ps, &self.activity(), &mut meter);
        Some(thermal.sensed())
    }

    /// What was used up until a moment that may lie ahead of the last one that the drive has simulated.
    pub(super) fn spent_at(&self, now_ps: Ps) -> Spent {
        let energy_j = |heating: &Heating| heating.meter.energy_j(&self.activity(), self.now_ps.max(now_ps));
        Spent {
            energy_j: self.heating.as_ref().map(energy_j),
            media_write_bytes: Some(self.ftl.counters().total() * PAGE_BYTES),
            host_write_bytes: Some(self.host.write_bytes),
            free_blocks_pct: Some(self.ftl.free_superblocks_pct()),
        }
    }

    pub(super) fn health(&self) -> Smart {
        let ftl = &self.ftl;
        let (spare, spare_when_new) = ftl.spare();
        let erase_counts = ftl.erase_counts();
        let mut smart = Smart {
            nand_pages: ftl.counters(),
            erases: ftl.erases(),
            erase_counts,
            bad_superblocks: ftl.bad_superblocks(),
            available_spare_pct: f64::from(spare) / f64::from(spare_when_new.max(1)) * 100.0,
            percentage_used: self.wear.map_or(0.0, |wear| erase_counts.mean / wear.rated_erases * 100.0),
            read_only: ftl.is_read_only(),
            media_errors: self.back_end.retention.as_ref().map_or(0, |retention| retention.uncorrectable()),
            slc_superblocks: ftl.slc_superblocks(),
            mapped_pages: ftl.mapped_pages().into(),
            ..Smart::default()
        };
        self.host.report(&mut smart);
        if let Some(Heating { meter, thermal }) = &self.heating {
            smart.energy_j = Some(meter.energy_j(&self.activity(), self.now_ps));
            if let Some(thermal) = thermal {
                smart.temperature_c = Some(thermal.sensor_c());
                smart.true_temperatures_c = Some(thermal.true_temperatures_c());
                smart.warning_temperature_s = thermal.warning_s();
                smart.critical_temperature_s = thermal.critical_s();
                smart.throttle_events = thermal.throttle_events();
            }
        }
        smart
    }
}
