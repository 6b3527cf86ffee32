//! Models of traces: some kilobytes of text from which I/Os like those of a trace are made, as many as wanted.
//!
//! A model keeps how I/Os come in trains, which operation and size follows which, where runs go on, and how much
//! else is used between two uses of a block. A replay of it is one of any trace.

mod clock;
mod form;
mod generate;
mod measure;
mod use_stack;

pub use form::Model;
pub use generate::ModelReader;
pub use measure::{Modeled, Modeler};

use super::formats::{Format, Opened, ReadOptions};
use super::source::{Source, text_of_one};

/// Models are a format of files.
pub(super) static FORMATS: &[Format] = &[Format {
    name: "model",
    label: "models of traces, as `openpts trace synthesize --model` writes them (TOML)",
    is_at_head: |head| {
        let has = |words: &[u8]| head.windows(words.len()).any(|window| window == words);
        has(b"\n[[arrivals]]") && has(b"\n[[stream]]")
    },
    open,
}];

fn open(sources: Vec<Source>, _: &ReadOptions) -> Opened {
    let text = text_of_one(sources, "model")?;
    Ok(Box::new(ModelReader::new(Model::parse(&text)?)))
}
