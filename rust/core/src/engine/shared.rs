//! What the threads of a session share.

use std::sync::Arc;

use super::barrier::Barrier;
use super::cpu::Beginnings;
use super::progress::ThreadProgress;
use super::signals::Signals;
use super::slots::Flights;
use crate::clock::Clock;

/// What all threads share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) barrier: Arc<Barrier>,
    pub(super) signals: Arc<Signals>,
    pub(super) progress: Vec<Arc<ThreadProgress>>,
    pub(super) flights: Vec<Arc<Flights>>,
    pub(super) beginnings: Arc<Beginnings>,
}
