//! Whether and when hosts get at the drive: its locking, and how long it takes to become ready.

use std::str::FromStr;
use std::time::Duration;

/// What a level 0 discovery of the drive says, each a state that drives are met in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// No Security Receive at all.
    #[default]
    None,
    /// Opal 1, not activated.
    Opal1,
    /// Opal 2, not activated.
    Opal2,
    /// Opal 2, activated and unlocked.
    Enabled,
    /// Opal 2, locked.
    Locked,
    /// Opal 2, unlocked, its own MBR shown in place of the first blocks.
    ShadowMbr,
    /// Opal 2, whose owner's PIN is not accepted until the next power cycle.
    SidBlocked,
    /// Enterprise, locked.
    Enterprise,
    /// Pyrite 2, locked.
    Pyrite,
    /// Ruby, not activated.
    Ruby,
    /// Opal 2, in an answer that is longer than what was asked for.
    TooLong,
    /// Opal 2, whose last descriptor is cut off.
    CutOff,
}

const NAMES: [(&str, Security); 12] = [
    ("none", Security::None),
    ("opal-1", Security::Opal1),
    ("opal-2", Security::Opal2),
    ("enabled", Security::Enabled),
    ("locked", Security::Locked),
    ("shadow-mbr", Security::ShadowMbr),
    ("sid-blocked", Security::SidBlocked),
    ("enterprise", Security::Enterprise),
    ("pyrite", Security::Pyrite),
    ("ruby", Security::Ruby),
    ("too-long", Security::TooLong),
    ("cut-off", Security::CutOff),
];

impl FromStr for Security {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, security)| *security).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("{name:?} is no state of locking; there are {}", names.join(", "))
        })
    }
}

/// How the drive lets hosts at itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access {
    /// Its locking when it is switched on.
    pub security: Security,
    /// From the enabling of a controller to the one at which it is ready (CSTS.RDY).
    pub ready_after: Duration,
    /// From the enabling of a controller to its first I/O; before, a namespace is not ready.
    pub media_after: Duration,
}
