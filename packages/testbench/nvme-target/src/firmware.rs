//! Firmware: an image comes in parts, is committed to a slot, and runs at once or after the next reset.

use sha2::{Digest, Sha256};

use super::bytes::Page;
use super::command::{Answered, Command, Done, Status};

/// Slots: the first one is read-only, and has what the drive came with.
const SLOTS: usize = 3;
/// Whole units of what a part begins and ends at, as the identify data say it.
const UNIT_BYTES: usize = 4096;
const MOST_BYTES: usize = 6 << 20;
/// Bytes of an image: its mark, its revision, anything, and at its end the SHA-256 of all before.
const MARK: &[u8; 16] = b"openpts firmware";
const REVISION_BYTES: usize = 8;
const DIGEST_BYTES: usize = 32;
const HEAD_BYTES: usize = MARK.len() + REVISION_BYTES;

/// Images and what runs of them; slots are counted from 1.
#[derive(Debug)]
pub(super) struct Firmware {
    revisions: [Option<String>; SLOTS],
    active: usize,
    /// What runs after the next reset of a controller.
    next: Option<usize>,
    downloaded: Vec<u8>,
}

impl Firmware {
    /// As the drive came.
    pub(super) fn new(revision: &str) -> Self {
        let revisions = [Some(revision.to_owned()), None, None];
        Self { revisions, active: 1, next: None, downloaded: Vec::new() }
    }

    /// What runs.
    pub(super) fn revision(&self) -> &str {
        self.revisions[self.active - 1].as_deref().unwrap_or_default()
    }

    /// A controller was reset: what waited for that runs now.
    pub(super) fn reset(&mut self) {
        self.active = self.next.take().unwrap_or(self.active);
        self.downloaded.clear();
    }

    /// The slots as their log has them.
    pub(super) fn log(&self) -> Page {
        let mut page = Page::new(512);
        let byte = |slot: usize| u8::try_from(slot).unwrap_or(0);
        page.put_u8(0, byte(self.active) | byte(self.next.unwrap_or(0)) << 4);
        for (place, revision) in self.revisions.iter().enumerate() {
            if let Some(revision) = revision {
                page.put_text(8 * (place + 1), REVISION_BYTES, revision);
            }
        }
        page
    }

    /// Firmware Image Download.
    pub(super) fn download(&mut self, command: &Command, data: &[u8]) -> Answered {
        let at = usize::try_from(u64::from(command.dword(11)) * 4).map_err(|_| Status::INVALID_FIELD)?;
        if data.len() as u64 != (u64::from(command.dword(10)) + 1) * 4 {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        self.take(at, data).map(|()| Done::default())
    }

    /// Firmware Commit.
    pub(super) fn commit(&mut self, command: &Command) -> Answered {
        let word = command.dword(10);
        self.put((word & 7) as usize, word >> 3 & 7).map(|()| Done::default())
    }

    fn take(&mut self, at: usize, data: &[u8]) -> Result<(), Status> {
        if at == 0 {
            self.downloaded.clear();
        }
        if !at.is_multiple_of(UNIT_BYTES) || at + data.len() > MOST_BYTES || at > self.downloaded.len() {
            return Err(Status::INVALID_FIELD);
        }
        if at < self.downloaded.len() {
            return Err(Status::OVERLAPPING_RANGE);
        }
        self.downloaded.extend_from_slice(data);
        Ok(())
    }

    /// Put the image that was downloaded into a slot; 0 stands for one that does not run.
    fn store(&mut self, slot: usize) -> Result<usize, Status> {
        let slot = if slot == 0 { if self.active == 2 { 3 } else { 2 } } else { slot };
        if !(2..=SLOTS).contains(&slot) {
            return Err(Status::INVALID_FIRMWARE_SLOT);
        }
        let image = std::mem::take(&mut self.downloaded);
        self.revisions[slot - 1] = Some(revision_of(&image).ok_or(Status::INVALID_FIRMWARE_IMAGE)?);
        Ok(slot)
    }

    /// A slot with an image that may run.
    fn stored(&self, slot: usize) -> Result<usize, Status> {
        let is_there = (1..=SLOTS).contains(&slot) && self.revisions[slot - 1].is_some();
        if is_there { Ok(slot) } else { Err(Status::INVALID_FIRMWARE_SLOT) }
    }

    fn put(&mut self, slot: usize, action: u32) -> Result<(), Status> {
        match action {
            0 => self.store(slot).map(drop)?,
            1 => self.next = Some(self.store(slot)?),
            2 => self.next = Some(self.stored(slot)?),
            3 => {
                self.active = self.stored(slot)?;
                self.next = None;
            }
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(())
    }
}

fn revision_of(image: &[u8]) -> Option<String> {
    let (signed, digest) = image.split_at_checked(image.len().checked_sub(DIGEST_BYTES)?)?;
    let is_whole = signed.len() >= HEAD_BYTES && signed.starts_with(MARK);
    let is_signed = Sha256::digest(signed).as_slice() == digest;
    (is_whole && is_signed).then(|| String::from_utf8_lossy(&signed[MARK.len()..HEAD_BYTES]).into_owned())
}

/// Tell hosts what there is: slots, activation without a reset within 1 s, the unit of parts.
pub(super) fn describe(page: &mut Page) {
    page.put_u8(260, 1 | (SLOTS as u8) << 1 | 1 << 4).put_u16(270, 10).put_u8(319, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(revision: &str) -> Vec<u8> {
        let mut image = [MARK.as_slice(), revision.as_bytes(), &[7; 5000]].concat();
        let digest = Sha256::digest(&image);
        image.extend_from_slice(&digest);
        image
    }

    fn downloaded(firmware: &mut Firmware, image: &[u8]) {
        for (place, part) in image.chunks(UNIT_BYTES).enumerate() {
            firmware.take(place * UNIT_BYTES, part).unwrap();
        }
    }

    #[test]
    fn an_image_runs_at_once_or_after_a_reset() {
        let mut firmware = Firmware::new("1.0");
        downloaded(&mut firmware, &image("rev 2   "));
        assert_eq!(firmware.put(0, 1), Ok(()));
        assert_eq!((firmware.revision(), firmware.log().into_bytes()[0]), ("1.0", 0x21));
        firmware.reset();
        assert_eq!((firmware.revision(), firmware.log().into_bytes()[0]), ("rev 2   ", 0x02));
        downloaded(&mut firmware, &image("rev 3   "));
        assert_eq!(firmware.put(0, 0), Ok(()));
        assert_eq!(firmware.put(3, 3), Ok(()));
        assert_eq!(firmware.revision(), "rev 3   ");
        assert_eq!(&firmware.log().into_bytes()[8..32], b"1.0     rev 2   rev 3   ");
    }

    #[test]
    fn what_is_not_signed_or_has_no_place_changes_nothing() {
        let mut firmware = Firmware::new("1.0");
        let mut bad = image("rev 2   ");
        bad[100] ^= 1;
        downloaded(&mut firmware, &bad);
        assert_eq!(firmware.take(UNIT_BYTES, &[0; 4]), Err(Status::OVERLAPPING_RANGE));
        assert_eq!(firmware.take(3 * UNIT_BYTES, &[0; 4]), Err(Status::INVALID_FIELD));
        assert_eq!(firmware.put(2, 0), Err(Status::INVALID_FIRMWARE_IMAGE));
        assert_eq!(firmware.put(2, 0), Err(Status::INVALID_FIRMWARE_IMAGE));
        assert_eq!(firmware.put(2, 3), Err(Status::INVALID_FIRMWARE_SLOT));
        downloaded(&mut firmware, &image("rev 2   "));
        assert_eq!(firmware.put(1, 0), Err(Status::INVALID_FIRMWARE_SLOT));
        assert_eq!(firmware.put(2, 4), Err(Status::INVALID_FIELD));
        assert_eq!((firmware.revision(), firmware.log().into_bytes()[16]), ("1.0", 0));
    }
}
