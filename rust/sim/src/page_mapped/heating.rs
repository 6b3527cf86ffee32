//! The energy that a drive draws, and how warm that makes it.

use crate::power::Meter;
use crate::preset::PageMapped;
use crate::scale::Scale;
use crate::thermal::ThermalState;
use crate::time::{NEVER, Ps};

/// The meter, and the temperatures where the preset has them.
pub(super) struct Heating {
    pub(super) meter: Meter,
    pub(super) thermal: Option<ThermalState>,
}

impl Heating {
    /// `None` if the preset has no power.
    pub(super) fn new(model: &PageMapped, scale: Scale) -> Option<Self> {
        let meter = Meter::new(model.power.as_ref()?);
        let thermal = model.thermal.as_ref().map(|thermal| ThermalState::new(thermal, scale));
        Some(Self { meter, thermal })
    }

    /// When there is something to do.
    pub(super) fn next_tick_ps(&self) -> Ps {
        self.thermal.as_ref().map_or(NEVER, ThermalState::next_tick_ps)
    }
}
