//! A small target for hosts that mean harm; the fuzz target of hosts takes it as well.

use std::net::SocketAddr;
use std::time::Duration;

use openpts_nvme_target::{Access, Faults, Identity, Order, Secrets, Target};
use openpts_sim::{Preset, Scale};

pub const NQN: &str = "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000000";
const PRESET: &str = include_str!("../../../../../packages/openpts_sim/presets/client-qlc.toml");

pub fn target(secrets: Secrets) -> Target {
    let order = Order {
        preset: Preset::parse(PRESET).unwrap(),
        capacity_bytes: 256_000_000,
        scale: Scale::ONE,
        seed: 1,
        is_worn_in: false,
        ambient_c: None,
        initial_wear_pct: 0.0,
        identity: Identity {
            nqn: NQN.into(),
            serial: "SIM1".into(),
            model: "fuzzed".into(),
            firmware: "1".into(),
            guid: [7; 16],
        },
        data: None,
        sanitize_takes: Duration::ZERO,
        access: Access::default(),
        faults: Faults::default(),
        secrets,
    };
    Target::start(order, SocketAddr::from(([127, 0, 0, 1], 0))).unwrap()
}
