//! What the kernel gave a queue, by name.

/// Names and whether each is there, for the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(Vec<(&'static str, bool)>);

impl Features {
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
