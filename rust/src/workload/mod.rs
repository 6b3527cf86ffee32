//! What to issue next: offsets, sizes, directions and payload. Serves every queue alike.

mod mix;
mod offsets;
mod payload;
mod random;
mod stimulus;
mod stream;

pub use payload::Payload;
pub use random::Uniform;
pub use stimulus::{AccessPattern, Limits, Program, Step, Stimulus, StimulusError, StopRule, parse_program};
pub use stream::{Carried, Direction, Io, Stream};
