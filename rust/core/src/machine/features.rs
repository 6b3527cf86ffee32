//! What the kernel gave a queue, by name.

/// Names and whether each is there, for the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(Vec<(&'static str, bool)>);

impl Features {
    /// What both have: a limit may be reached by one thread after the other had enough.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Self {
        let both = self.0.iter().zip(&other.0).map(|(mine, theirs)| (mine.0, mine.1 && theirs.1));
        Self(both.collect())
    }

    /// All names, in a fixed order for each path.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.0.iter().copied()
    }
}

impl<const COUNT: usize> From<[(&'static str, bool); COUNT]> for Features {
    fn from(list: [(&'static str, bool); COUNT]) -> Self {
        Self(list.to_vec())
    }
}
