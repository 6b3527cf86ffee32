//! Little-endian fields of pages and commands, and the fixed-width texts of NVMe.

/// Two bytes at a place.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Four bytes at a place.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// Eight bytes at a place.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// A data structure of so many bytes, which its command may ask for in part.
#[derive(Clone, Debug)]
pub(super) struct Page(Vec<u8>);

impl Page {
    /// All zeros.
    pub(super) fn new(length: usize) -> Self {
        Self(vec![0; length])
    }

    /// Put bytes at a place.
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Put one byte.
    pub(super) fn put_u8(&mut self, at: usize, value: u8) -> &mut Self {
        self.put(at, &[value])
    }

    /// Put a 16-bit number.
    pub(super) fn put_u16(&mut self, at: usize, value: u16) -> &mut Self {
        self.put(at, &value.to_le_bytes())
    }

    /// Put a 32-bit number.
    pub(super) fn put_u32(&mut self, at: usize, value: u32) -> &mut Self {
        self.put(at, &value.to_le_bytes())
    }

    /// Put a 64-bit number.
    pub(super) fn put_u64(&mut self, at: usize, value: u64) -> &mut Self {
        self.put(at, &value.to_le_bytes())
    }

    /// Put a text that is filled up with blanks; what is not ASCII becomes `?`.
    pub(super) fn put_text(&mut self, at: usize, width: usize, text: &str) -> &mut Self {
        let printable = |c: char| if c.is_ascii_graphic() || c == ' ' { c as u8 } else { b'?' };
        let letters = text.chars().map(printable).chain(std::iter::repeat(b' '));
        self.0[at..at + width].iter_mut().zip(letters).for_each(|(place, letter)| *place = letter);
        self
    }

    /// The whole of it.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
