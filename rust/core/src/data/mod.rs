//! What is written, and whether it is what comes back. Knows no I/O and no time.

mod deck;
mod lasting;
mod miscompare;
mod random_bytes;
mod reducible;
mod source;
mod verified;

pub use miscompare::{Miscompare, MiscompareKind};
pub use source::DataSource;

pub(crate) use random_bytes::RandomBytes;
pub(crate) use verified::{Sectors, generation_of};
