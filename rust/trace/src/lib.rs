//! Traces of block I/O.
//!
//! ```text
//! files of any format --reader--> batches of TracedIo --order--> canonical form (Parquet)
//!                                                                  |-> what the trace is like
//!                                                                  |-> schedules for replay
//!                                                                  '-> other formats
//! ```
//!
//! All of it streams: memory is bounded, whatever the length of a trace. What a reader meets is counted: records
//! read = accepted + skipped (by a named reason) + damaged (by a named class, the first with their places).

mod error;
mod formats;
mod reader;
pub mod schedule;
mod source;
mod tally;
mod traced_io;

pub use error::TraceError;
pub use formats::{FORMATS, Format, HEAD_BYTES, Opened, ReadOptions, Segments, Spread, UnknownDirection};
pub use reader::{BATCH_IOS, Dictionary, Level, SourceFacts, TraceReader, TracedDevice};
pub use source::Source;
pub use tally::{Damage, DamageClass, FIRST_DAMAGES, Place, SkipReason, Tally};
pub use traced_io::{Flags, NO_PROCESS, NO_PROCESSOR, Quality, Status, TracedIo, TracedOperation};
