//! When things happen in a drive: stages that serve one after the other, and dies that let reads go first.
//!
//! Nothing here waits for events. Each stage knows until when it is taken; the answer to an I/O is worked out
//! when it is submitted. Stages that all I/Os share are booked in the order of submission, before the dies:
//! what that changes against the true order is measured by the tests.

mod die;
mod flash;
mod front_end;
mod group_commit;
mod link;
mod stage;
mod write_buffer;

#[cfg(test)]
mod queueing_tests;

pub use flash::Flash;
pub use front_end::FrontEnd;
pub use group_commit::GroupCommit;
pub use link::Link;
pub use stage::Stage;
pub use write_buffer::WriteBuffer;
