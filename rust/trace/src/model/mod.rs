//! Models of traces: some kilobytes of text from which I/Os like those of a trace are made, as many as wanted.
//!
//! A model keeps how I/Os come in trains, which operation and size follows which, where runs go on, and how much
//! else is used between two uses of a block. A replay of it is one of any trace.

mod clock;
mod form;
mod generate;
mod measure;
mod use_stack;

use std::io::Read;

pub use form::Model;
pub use generate::ModelReader;
pub use measure::{Modeled, Modeler};

use super::error::TraceError;
use super::formats::{Format, Opened, ReadOptions};
use super::source::Source;

/// Bytes of a model at most.
const LONGEST: u64 = 1 << 20;

/// Models are a format of files.
pub(super) static FORMATS: &[Format] = &[Format {
    name: "model",
    label: "models of traces, as `openpts trace synthesise --model` writes them (TOML)",
    is_at_head: |head| {
        let has = |words: &[u8]| head.windows(words.len()).any(|window| window == words);
        has(b"\n[[arrivals]]") && has(b"\n[[stream]]")
    },
    open,
}];

fn open(sources: Vec<Source>, _: &ReadOptions) -> Opened {
    let [source] = <[Source; 1]>::try_from(sources)
        .map_err(|_| TraceError::Refused("a model is one file: merge the traces of several".into()))?;
    let mut text = String::new();
    (source.bytes.take(LONGEST).read_to_string(&mut text))
        .map_err(|error| TraceError::File { path: source.path, source: error })?;
    Ok(Box::new(ModelReader::new(Model::parse(&text)?)))
}
