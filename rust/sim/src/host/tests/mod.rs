//! Whole programs against drives whose answers can be told beforehand. Virtual time makes them exact.

mod determinism;
mod laws;
mod pacing;
mod replaying;
mod scaling;
mod sensing;
mod sharing;
mod stopping;
mod streams;
