//! Which of the captured devices an I/O belongs to: events of a partition have the number, and the places, of its disk.

use std::collections::HashMap;

use crate::block_event::SECTOR_BYTES;
use crate::traced_io::{TracedIo, TracedOperation};

use super::order::LiveDevice;

/// A captured device on its disk.
#[derive(Clone, Copy)]
struct Range {
    first_bytes: u64,
    end_bytes: u64,
    device: u16,
}

/// All captured devices.
pub(super) struct Places {
    disks: HashMap<u32, u32>,
    ranges_by_disk: Vec<(u32, Vec<Range>)>,
    /// Which of those a decoder's own number is.
    by_number: HashMap<u16, usize>,
}

impl Places {
    pub fn new(devices: &[LiveDevice]) -> Self {
        let mut disks = HashMap::new();
        let mut ranges_by_disk: Vec<(u32, Vec<Range>)> = Vec::new();
        for (device, number) in devices.iter().zip(0_u16..) {
            let Some(&disk) = device.numbers.first() else { continue };
            disks.extend(device.numbers.iter().map(|&number| (number, disk)));
            let first_bytes = device.first_sector.saturating_mul(SECTOR_BYTES);
            let end_bytes = first_bytes.saturating_add(device.capacity_bytes);
            let range = Range { first_bytes, end_bytes, device: number };
            match ranges_by_disk.iter_mut().find(|(known, _)| *known == disk) {
                Some((_, ranges)) => ranges.push(range),
                None => ranges_by_disk.push((disk, vec![range])),
            }
        }
        Self { disks, ranges_by_disk, by_number: HashMap::new() }
    }

    /// The disk of a device by the kernel's numbers.
    pub fn disk_of(&self, kernel_number: u32) -> u32 {
        self.disks.get(&kernel_number).copied().unwrap_or(kernel_number)
    }

    /// A decoder gives each disk a number of its own.
    pub fn number_disks(&mut self, mut number_of: impl FnMut(u32) -> Option<u16>) {
        for (index, (disk, _)) in self.ranges_by_disk.iter().enumerate() {
            self.by_number.extend(number_of(*disk).map(|number| (number, index)));
        }
    }

    /// Put an I/O of a disk to its device; false if it is none of the captured ones.
    pub fn put(&self, io: &mut TracedIo) -> bool {
        let Some(&index) = self.by_number.get(&io.device) else { return false };
        let is_whole = io.operation == TracedOperation::Flush;
        let holds =
            |range: &&Range| is_whole || (range.first_bytes..range.end_bytes).contains(&io.offset_bytes);
        let Some(range) = self.ranges_by_disk[index].1.iter().find(holds) else { return false };
        if !is_whole {
            io.offset_bytes -= range.first_bytes;
        }
        io.device = range.device;
        io.domain = range.device;
        true
    }
}
