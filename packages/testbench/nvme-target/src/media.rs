//! Namespaces, and whether their data may be touched now.

use std::time::Instant;

use super::command::Status;

/// The number that means all namespaces.
pub(super) const ALL: u32 = u32::MAX;
/// LBA formats by number: 512 and 4096 bytes.
pub(super) const LBA_SHIFTS: [u32; 2] = [9, 12];
/// Namespaces that the drive has room for.
pub(super) const MOST_NAMESPACES: u32 = 16;
/// What namespaces begin and end at.
pub(super) const NAMESPACE_UNIT_BYTES: u64 = 1 << 20;

/// What keeps the host from its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    /// A format ends then.
    Formatting(Instant),
    Sanitizing,
    /// A sanitize failed; until one succeeds, nothing is given out.
    SanitizeFailed,
}

/// A part of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    pub(super) id: u32,
    pub(super) first_byte: u64,
    pub(super) bytes: u64,
    /// Number of its LBA format.
    pub(super) format: usize,
    pub(super) is_attached: bool,
}

impl Namespace {
    pub(super) const fn lba_shift(&self) -> u32 {
        LBA_SHIFTS[self.format]
    }

    pub(super) const fn lbas(&self) -> u64 {
        self.bytes >> self.lba_shift()
    }

    /// Where a range of its LBAs lies, as offset and length in bytes of the drive.
    pub(super) fn range(&self, first_lba: u64, lbas: u64) -> Result<(u64, u64), Status> {
        let end = first_lba.checked_add(lbas).ok_or(Status::LBA_OUT_OF_RANGE)?;
        if end > self.lbas() {
            return Err(Status::LBA_OUT_OF_RANGE);
        }
        Ok((self.first_byte + (first_lba << self.lba_shift()), lbas << self.lba_shift()))
    }
}

/// The drive's namespaces, in the order of their numbers.
#[derive(Clone, Debug)]
pub(super) struct Media {
    pub(super) gate: Gate,
    pub(super) namespaces: Vec<Namespace>,
    capacity_bytes: u64,
}

impl Media {
    /// One namespace over all of the drive.
    pub(super) fn new(capacity_bytes: u64, format: usize) -> Self {
        let whole = Namespace { id: 1, first_byte: 0, bytes: capacity_bytes, format, is_attached: true };
        Self { gate: Gate::Open, namespaces: vec![whole], capacity_bytes }
    }

    /// Whether data may be touched now.
    pub(super) fn admit(&self) -> Result<(), Status> {
        match self.gate {
            Gate::Open => Ok(()),
            Gate::Formatting(until) if Instant::now() >= until => Ok(()),
            Gate::Formatting(_) => Err(Status::FORMAT_IN_PROGRESS),
            Gate::Sanitizing => Err(Status::SANITIZE_IN_PROGRESS),
            Gate::SanitizeFailed => Err(Status::SANITIZE_FAILED),
        }
    }

    /// An allocated namespace.
    pub(super) fn allocated(&self, id: u32) -> Result<&Namespace, Status> {
        self.namespaces.iter().find(|namespace| namespace.id == id).ok_or(Status::INVALID_NAMESPACE)
    }

    /// A namespace that the host may use.
    pub(super) fn attached(&self, id: u32) -> Result<&Namespace, Status> {
        self.allocated(id).ok().filter(|namespace| namespace.is_attached).ok_or(Status::INVALID_NAMESPACE)
    }

    fn allocated_mut(&mut self, id: u32) -> Result<&mut Namespace, Status> {
        self.namespaces.iter_mut().find(|namespace| namespace.id == id).ok_or(Status::INVALID_NAMESPACE)
    }

    /// Bytes that belong to no namespace.
    pub(super) fn unallocated_bytes(&self) -> u64 {
        self.capacity_bytes - self.namespaces.iter().map(|namespace| namespace.bytes).sum::<u64>()
    }

    /// Make a namespace in the first gap that holds it; gives its number.
    pub(super) fn create(&mut self, lbas: u64, format: usize) -> Result<u32, Status> {
        let wanted = LBA_SHIFTS.get(format).ok_or(Status::INVALID_FORMAT)?;
        let bytes = lbas.checked_mul(1 << wanted).filter(|bytes| *bytes > 0).ok_or(Status::INVALID_FIELD)?;
        let id = (1..=MOST_NAMESPACES).find(|id| self.allocated(*id).is_err());
        let id = id.ok_or(Status::NO_NAMESPACE_ID)?;
        let mut taken: Vec<_> =
            self.namespaces.iter().map(|namespace| (namespace.first_byte, namespace.bytes)).collect();
        taken.sort_unstable();
        let mut first_byte = 0;
        for (begin, length) in taken.into_iter().chain([(self.capacity_bytes, 0)]) {
            if begin.saturating_sub(first_byte) >= bytes {
                let namespace = Namespace { id, first_byte, bytes, format, is_attached: false };
                self.namespaces.push(namespace);
                self.namespaces.sort_unstable_by_key(|namespace| namespace.id);
                return Ok(id);
            }
            first_byte = (begin + length).next_multiple_of(NAMESPACE_UNIT_BYTES);
        }
        Err(Status::NO_CAPACITY)
    }

    /// Take a namespace away; gives what it was.
    pub(super) fn delete(&mut self, id: u32) -> Result<Namespace, Status> {
        let namespace = *self.allocated(id)?;
        self.namespaces.retain(|namespace| namespace.id != id);
        Ok(namespace)
    }

    /// Show a namespace to hosts, or hide it.
    pub(super) fn attach(&mut self, id: u32, is_attached: bool) -> Result<(), Status> {
        let namespace = self.allocated_mut(id)?;
        match (namespace.is_attached, is_attached) {
            (true, true) => Err(Status::ALREADY_ATTACHED),
            (false, false) => Err(Status::NOT_ATTACHED),
            _ => {
                namespace.is_attached = is_attached;
                Ok(())
            }
        }
    }

    /// Give a namespace another LBA format.
    pub(super) fn set_format(&mut self, id: u32, format: usize) -> Result<(), Status> {
        self.allocated_mut(id)?.format = format;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_range_ends_with_its_namespace() {
        let media = Media::new(MIB, 0);
        let whole = media.attached(1).unwrap();
        assert_eq!(whole.range(2047, 1), Ok((MIB - 512, 512)));
        assert_eq!(whole.range(2047, 2), Err(Status::LBA_OUT_OF_RANGE));
        assert_eq!(whole.range(u64::MAX, 2), Err(Status::LBA_OUT_OF_RANGE));
    }

    #[test]
    fn namespaces_fill_the_gaps_and_never_overlap() {
        let mut media = Media::new(10 * MIB, 0);
        assert_eq!(media.create(1, 0), Err(Status::NO_CAPACITY));
        media.delete(1).unwrap();
        let ids: Vec<_> = (0..5).map(|_| media.create(512, 1).unwrap()).collect();
        assert_eq!((ids, media.unallocated_bytes()), (vec![1, 2, 3, 4, 5], 0));
        media.delete(2).unwrap();
        media.delete(4).unwrap();
        assert_eq!(media.create(6144, 0), Err(Status::NO_CAPACITY));
        assert_eq!(media.create(2048, 0), Ok(2));
        assert_eq!(media.allocated(2).unwrap().first_byte, 2 * MIB);
        assert_eq!(media.attached(2), Err(Status::INVALID_NAMESPACE));
        media.attach(2, true).unwrap();
        assert_eq!(media.attach(2, true), Err(Status::ALREADY_ATTACHED));
        assert!(media.attached(2).is_ok());
    }
}
