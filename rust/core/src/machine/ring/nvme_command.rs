//! An NVMe command as the kernel takes it, from a ring or by ioctl.

/// A `struct nvme_uring_cmd`, which is laid out as `struct nvme_passthru_cmd` and as large.
pub(super) struct Command([u8; Command::BYTES]);

impl Command {
    pub(super) const BYTES: usize = 72;

    pub(super) fn new(opcode: u8, namespace: u32) -> Self {
        let mut command = Self([0; Self::BYTES]);
        command.0[0] = opcode;
        command.put(4, namespace.to_ne_bytes());
        command
    }

    /// Where the data are. The submitter of the command answers for the memory.
    pub(super) fn data(&mut self, address: *mut u8, length_bytes: u32) {
        self.put(24, (address as u64).to_ne_bytes());
        self.put(36, length_bytes.to_ne_bytes());
    }

    /// Command Dword `number`, from 10 on.
    pub(super) fn dword(&mut self, number: usize, value: u32) {
        self.put(40 + 4 * (number - 10), value.to_ne_bytes());
    }

    pub(super) fn as_mut_bytes(&mut self) -> &mut [u8; Self::BYTES] {
        &mut self.0
    }

    /// In the 80 bytes that a ring's entry has room for.
    pub(super) fn padded(&self) -> [u8; 80] {
        let mut padded = [0; 80];
        padded[..Self::BYTES].copy_from_slice(&self.0);
        padded
    }

    fn put<const COUNT: usize>(&mut self, at: usize, bytes: [u8; COUNT]) {
        self.0[at..at + COUNT].copy_from_slice(&bytes);
    }
}
