//! Whether a schedule is what its stream says of it.

use super::super::operation::Operation;
use super::super::schedule::{Mode, Replay, ScheduleHeader};
use super::super::stimulus::Stream;

impl Replay {
    /// Whether the schedule is what its stream says of it, for a target with these sectors.
    ///
    /// # Errors
    /// If not, or if there is no such schedule.
    pub(super) fn check(&self, stream: &Stream, sector_bytes: u32) -> Result<(), String> {
        let header = ScheduleHeader::read(&self.path).map_err(|error| error.to_string())?;
        let stimulus = &stream.stimulus;
        let path = self.path.display();
        for operation in Operation::ALL {
            let ios = header.by_operation[operation as usize];
            if ios > 0 && stimulus.operations.of(operation) == 0 {
                return Err(format!("the schedule {path} has {ios} I/Os of the kind {}", operation.name()));
            }
        }
        if stream.bounds.ios.is_none_or(|ios| ios > header.ios) {
            return Err(format!("bounds.ios is to be {} at most, as the schedule {path} has", header.ios));
        }
        if header.end_bytes > stimulus.range_end_bytes {
            return Err(format!(
                "the schedule {path} reaches to byte {}, beyond the range",
                header.end_bytes
            ));
        }
        if header.largest_bytes > stimulus.largest_block_bytes() {
            let largest = header.largest_bytes;
            return Err(format!("the schedule {path} has transfers of {largest} B, more than block_sizes"));
        }
        if !header.sector_bytes.is_multiple_of(sector_bytes) {
            let sector = header.sector_bytes;
            return Err(format!("the schedule {path} is for sectors of {sector} B, not of {sector_bytes} B"));
        }
        if self.mode == Mode::Dependent && !header.has_parents {
            return Err(format!("the schedule {path} has no dependencies"));
        }
        Ok(())
    }
}
