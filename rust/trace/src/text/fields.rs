//! Cuts a line into fields.

use memchr::memchr_iter;

use crate::tally::DamageClass;

/// Fields that are kept of a line, at most.
pub(super) const FIELDS_MAX: usize = 64;

/// What is between the fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// This byte, unless it is between quotes; blanks around a field are not part of it.
    Byte { byte: u8, quote: Option<u8> },
    /// Any number of blanks and tabs.
    Blanks,
}

/// Where the fields of one line are; made once, filled for each line.
pub(super) struct Fields {
    spans: [(u32, u32); FIELDS_MAX],
    pub(super) count: usize,
}

impl Fields {
    pub(super) const fn new() -> Self {
        Self { spans: [(0, 0); FIELDS_MAX], count: 0 }
    }

    /// Finds the fields of a line. Those beyond [`FIELDS_MAX`] are damage, unless they are not asked for.
    #[inline]
    pub(super) fn split(&mut self, line: &[u8], by: Separator, cuts_more: bool) -> Result<(), DamageClass> {
        self.count = 0;
        match by {
            Separator::Byte { byte, quote: None } => {
                let mut begin = 0;
                for end in memchr_iter(byte, line) {
                    if self.count == FIELDS_MAX {
                        return if cuts_more { Ok(()) } else { Err("too many columns") };
                    }
                    self.push_trimmed(line, begin, end);
                    begin = end + 1;
                }
                if self.count == FIELDS_MAX {
                    return if cuts_more { Ok(()) } else { Err("too many columns") };
                }
                self.push_trimmed(line, begin, line.len());
                Ok(())
            }
            Separator::Byte { byte, quote: Some(quote) } => self.split_quoted(line, byte, quote, cuts_more),
            Separator::Blanks => {
                let mut at = 0;
                loop {
                    while line.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
                        at += 1;
                    }
                    if at == line.len() {
                        return Ok(());
                    }
                    if self.count == FIELDS_MAX {
                        return if cuts_more { Ok(()) } else { Err("too many columns") };
                    }
                    let begin = at;
                    while line.get(at).is_some_and(|byte| !matches!(byte, b' ' | b'\t')) {
                        at += 1;
                    }
                    self.push(begin, at);
                }
            }
        }
    }

    /// A doubled quote inside of quotes is left as it is: no column that is read contains one.
    fn split_quoted(&mut self, line: &[u8], byte: u8, quote: u8, cuts_more: bool) -> Result<(), DamageClass> {
        let (mut begin, mut is_quoted) = (0, false);
        for at in 0..=line.len() {
            match line.get(at) {
                Some(found) if *found == quote => is_quoted = !is_quoted,
                Some(found) if *found != byte || is_quoted => {}
                _ => {
                    if self.count == FIELDS_MAX {
                        return if cuts_more { Ok(()) } else { Err("too many columns") };
                    }
                    self.push_trimmed(line, begin, at);
                    let (first, last) = self.spans[self.count - 1];
                    let field = &line[first as usize..last as usize];
                    if field.len() > 1 && field[0] == quote && field[field.len() - 1] == quote {
                        self.spans[self.count - 1] = (first + 1, last - 1);
                    }
                    begin = at + 1;
                }
            }
        }
        if is_quoted { Err("quote without an end") } else { Ok(()) }
    }

    #[inline]
    fn push_trimmed(&mut self, line: &[u8], mut begin: usize, mut end: usize) {
        while begin < end && matches!(line[begin], b' ' | b'\t') {
            begin += 1;
        }
        while begin < end && matches!(line[end - 1], b' ' | b'\t') {
            end -= 1;
        }
        self.push(begin, end);
    }

    #[inline]
    fn push(&mut self, begin: usize, end: usize) {
        // Lines are far shorter than 4 GiB.
        self.spans[self.count] = (begin as u32, end as u32);
        self.count += 1;
    }

    /// The bytes from one field to another, both of them and what is between; empty if the line has no such field.
    #[inline]
    pub(super) fn join<'l>(&self, line: &'l [u8], first: usize, last: usize) -> &'l [u8] {
        if last >= self.count {
            return &[];
        }
        &line[self.spans[first].0 as usize..self.spans[last].1 as usize]
    }

    /// One field; empty if the line has no such field.
    #[inline]
    pub(super) fn get<'l>(&self, line: &'l [u8], index: usize) -> &'l [u8] {
        self.join(line, index, index)
    }
}
