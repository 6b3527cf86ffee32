//! What the threads of a session share.

use std::sync::{Arc, Mutex};

use super::cpu::CpuSnapshot;
use super::gate::Gate;
use super::progress::ThreadProgress;
use super::signals::Signals;
use super::slots::Flights;
use crate::clock::Clock;

/// What all threads share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) gate: Arc<Gate>,
    pub(super) signals: Arc<Signals>,
    pub(super) progress: Vec<Arc<ThreadProgress>>,
    pub(super) flights: Vec<Arc<Flights>>,
    pub(super) step_began: Arc<Mutex<CpuSnapshot>>,
}
