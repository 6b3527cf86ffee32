//! Traces of block I/O.
//!
//! ```text
//! files of any format --reader--> batches of TracedIo --order--> canonical form (Parquet)
//!                                                                  |-> what the trace is like, in figures
//!                                                                  |-> schedules for replay
//!                                                                  '-> other formats
//! ```
//!
//! All of it streams: memory is bounded, whatever the length of a trace. What a reader meets is counted: records
//! read = accepted + skipped (by a named reason) + damaged (by a named class, the first with their places).
//! Does not know how I/O is done, and knows no Python.

mod all_formats;
mod blktrace;
mod block_event;
mod canonical;
pub mod capture;
mod error;
mod facts;
mod figures;
mod formats;
mod header;
mod live;
mod open;
mod open_ios;
mod order;
mod pairing;
mod reader;
mod recipe;
pub mod schedule;
mod source;
mod table;
mod tally;
mod text;
mod trace;
mod traced_io;
mod write;

pub use all_formats::FORMATS;
pub use block_event::{BlockAction, BlockEvent, SECTOR_BYTES};
pub use canonical::CanonicalWriter;
pub use error::{TraceError, why};
pub use figures::{Depth, FigureTally, Figures, Moved};
pub use formats::{Format, ReadOptions, Segments, Spread};
pub use header::{Change, Counts, FidelityClass, TraceHeader};
pub use live::{LiveCapture, LiveDevice, LiveEnd, LiveOrder, LiveSummary, Way};
pub use open::NOT_TRACES;
pub use order::Reorder;
pub use pairing::Pairing;
pub use reader::{Level, SourceFacts, TracedDevice};
pub use recipe::{Expected, RECIPES, Recipe};
pub use source::Source;
pub use tally::{Loss, Tally};
pub use trace::{OpenOptions, Trace, open_trace};
pub use traced_io::{Flags, NO_PROCESS, NO_PROCESSOR, Quality, Status, TracedIo, TracedOperation};
pub use write::{OutputFormat, Written, write_trace};

#[cfg(test)]
extern crate self as openpts_trace;
#[cfg(test)]
#[path = "../tests/mod.rs"]
mod public_tests;
