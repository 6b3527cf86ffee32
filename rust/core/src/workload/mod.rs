//! What to issue next: operations, sizes, offsets and moments. Serves every engine alike; knows no
//! io_uring and no Python.

mod arrivals;
mod budget;
mod check;
mod coupling;
mod deck;
mod grid;
mod hot_spot;
mod io_stream;
mod operation;
mod permutation;
mod placement;
mod random;
mod schedule;
mod segments;
mod sequential;
mod share;
mod stimulus;
#[cfg(test)]
pub(crate) mod testing;
mod unique_lbas;
mod zones;

pub use arrivals::{Arrivals, DutyCycle, Quota};
pub use check::{
    Limits, MOST_BLOCK_SIZES, MOST_SEGMENTS, MOST_STREAMS, MOST_WINDOWS, MOST_ZONES, StimulusError,
    check_program, parse_program,
};
pub use coupling::Coupling;
pub use deck::Deck;
pub use io_stream::{Carried, IoStream};
pub use operation::{ByOperation, Choice, Io, Operation};
pub use permutation::Permutation;
pub use random::Uniform;
pub use schedule::{
    Cause, Conflicts, Cue, FARTHEST_PARENT, InFlightFit, LATE_NS, MOST_PARENTS, Mode, Played, Player, Replay,
    ScheduleError, ScheduleHeader, ScheduleWriter, ScheduledIo, UNKNOWN_LATENCY,
};
pub use stimulus::{
    BlockSize, Bounds, Cap, CapUnit, Data, OperationWeights, Pacing, Placement, Program, SteadyFigure,
    SteadyRule, Step, Stimulus, Stop, Stream, Zone,
};
