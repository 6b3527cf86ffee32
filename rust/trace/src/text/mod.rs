//! Traces that are text: one cutter of lines, column maps for what is one I/O per line, and readers for the rest.

mod blkparse;
mod columns;
mod events;
mod fields;
mod iolog;
pub(crate) mod letters;
mod lines;
mod number;
mod reader;
#[cfg(test)]
mod tests;
mod tracepoints;
mod xperf;

pub(crate) use columns::FORMATS as COLUMN_FORMATS;

use crate::formats::Format;

/// Those with a reader of their own.
pub(crate) static FORMATS: &[Format] = &[blkparse::FORMAT, iolog::FORMAT, tracepoints::FORMAT, xperf::FORMAT];
