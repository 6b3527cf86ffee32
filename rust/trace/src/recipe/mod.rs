//! Workloads as recipes: a few lines of text from which the same trace is made each time.
//!
//! A recipe names actors. Each is like a program: it keeps some I/Os outstanding, thinks, goes on. Their times are
//! those on a nominal drive; what a replay keeps of them is up to its mode.

mod actor;
mod generator;
mod library;

use serde::Deserialize;

use super::error::TraceError;
use super::formats::{Format, Opened, ReadOptions};
use super::source::{Source, text_of_one};
pub use actor::Actor;
pub use generator::RecipeReader;
pub use library::{RECIPES, shipped};

/// Recipes are a format: of files, and of `recipe:NAME`.
pub(super) static FORMATS: &[Format] = &[Format {
    name: "recipe",
    label: "workloads as recipes of openpts (TOML); recipe:NAME for a shipped one",
    nearness: |_| None,
    is_at_head: |head| {
        let has = |words: &[u8]| head.windows(words.len()).any(|window| window == words);
        has(b"\n[[actor]]") && has(b"footprint_mib")
    },
    open,
}];

fn open(sources: Vec<Source>, _: &ReadOptions) -> Opened {
    let text = text_of_one(sources, "recipe")?;
    Ok(Box::new(RecipeReader::new(Recipe::parse(&text)?)))
}

/// A workload that can be made again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// As `recipe:NAME` takes it; `like:` before it where it is built to published figures.
    pub name: String,
    /// What a user does, in a few words.
    pub label: String,
    /// How it was made, and what it leaves out.
    pub model: String,
    /// Where its figures come from; none for one of our own.
    #[serde(default)]
    pub sources: Vec<String>,
    /// What it touches at most, from the first byte of the target on.
    pub footprint_mib: u64,
    /// Of its random numbers.
    pub seed: u64,
    /// What a trace of it has.
    pub expect: Expected,
    /// What does I/O, side by side.
    pub actor: Vec<Actor>,
}

/// Figures that a trace of a recipe has, each within 1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// In units of 10^6 bytes.
    pub read_mb: u64,
    /// In units of 10^6 bytes.
    pub written_mb: u64,
    /// Of each ten thousand reads, those that begin where one of the last 32 ended; none: nothing is expected.
    pub sequential_reads_per_10k: Option<u64>,
    /// The same of writes.
    pub sequential_writes_per_10k: Option<u64>,
}

impl Recipe {
    /// Of its text.
    ///
    /// # Errors
    /// If it is no TOML, lacks something, or contradicts itself.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let recipe: Self = toml::from_str(text).map_err(|error| {
            TraceError::Refused(format!("not a recipe: {}", error.to_string().trim_end()))
        })?;
        recipe.check().map_err(|reason| {
            TraceError::Refused(format!("recipe {} can't be made: {reason}", recipe.name))
        })?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), String> {
        if self.actor.is_empty() {
            return Err("it has no actor".into());
        }
        for (number, actor) in self.actor.iter().enumerate() {
            actor.check(self.footprint_mib).map_err(|reason| format!("actor {}: {reason}", actor.name))?;
            let Some(before) = &actor.after else { continue };
            if !self.actor[..number].iter().any(|earlier| earlier.name == *before) {
                return Err(format!(
                    "actor {} begins after {before}, which is no actor before it",
                    actor.name
                ));
            }
        }
        Ok(())
    }
}
