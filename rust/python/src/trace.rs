//! Traces: what an order says is done with them, in one pass.

use std::fs::File;
use std::os::fd::RawFd;
use std::path::PathBuf;

use openpts_core::machine::Target;
use openpts_trace::{
    FORMATS, Filter, Filtered, IoStream, Merged, OpenOptions, OutputFormat, Part, RECIPES, Speed, Trace,
    TraceError, Written, open_trace, why, write_trace,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::errors::value_error;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    traces: Vec<Input>,
    filter: Option<Filter>,
    to: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    paths: Vec<PathBuf>,
    options: OpenOptions,
    /// If it is one of several.
    place: Option<Place>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    start_ns: i64,
    traced: u32,
    taken: u32,
    loops: u32,
    prefix: String,
}

impl Input {
    fn open(&self) -> Result<Trace, TraceError> {
        open_trace(&self.paths, &self.options)
    }

    fn part(self, place: Place) -> Part {
        let Place { start_ns, traced, taken, loops, prefix } = place;
        Part { open: Box::new(move || self.open()), start_ns, speed: Speed { traced, taken }, loops, prefix }
    }
}

/// What hears of the progress, and the error by which it has ended everything.
struct Listener {
    heard: Py<PyAny>,
    error: Option<PyErr>,
}

impl Listener {
    fn hear(&mut self, ios: u64) -> Result<(), TraceError> {
        let heard = Python::attach(|py| py.check_signals().and_then(|()| self.heard.call1(py, (ios,))));
        heard.map(drop).map_err(|error| {
            self.error = Some(error);
            TraceError::Stopped
        })
    }
}

/// Names and labels of all formats that can be read.
#[pyfunction]
pub(super) fn trace_formats() -> Vec<(&'static str, &'static str)> {
    FORMATS.iter().copied().flatten().map(|format| (format.name, format.label)).collect()
}

/// Names of all formats that can be written.
#[pyfunction]
pub(super) fn trace_outputs() -> Vec<&'static str> {
    OutputFormat::ALL.map(OutputFormat::name).to_vec()
}

/// Names and texts of the recipes that ship.
#[pyfunction]
pub(super) fn trace_recipes() -> Vec<(&'static str, &'static str)> {
    RECIPES.to_vec()
}

/// Carry out an order, and return what came of it; both are JSON.
#[pyfunction]
#[pyo3(signature = (order, *, descriptor, heard))]
pub(super) fn treat_traces(
    py: Python<'_>,
    order: &str,
    descriptor: Option<RawFd>,
    heard: Py<PyAny>,
) -> PyResult<String> {
    let order: Order = serde_json::from_str(order).map_err(value_error)?;
    let format = match &order.to {
        None => None,
        Some(name) => {
            let known = OutputFormat::ALL.into_iter().find(|format| format.name() == name);
            Some(known.ok_or_else(|| PyValueError::new_err("there is no such output"))?)
        }
    };
    let mut out = Out { format, file: descriptor.map(duplicate).transpose()? };
    let mut listener = Listener { heard, error: None };
    let outcome = py.detach(|| carry_out(order, &mut out, &mut listener));
    match (outcome, listener.error) {
        (Ok(value), _) => Ok(value.to_string()),
        (Err(_), Some(error)) => Err(error),
        (Err(TraceError::Write(error)), None) => Err(PyOSError::new_err(why(&error))),
        (Err(error), None) => Err(value_error(error)),
    }
}

fn duplicate(descriptor: RawFd) -> PyResult<File> {
    Ok(File::from(Target::duplicate(descriptor)?.into_descriptor()))
}

struct Out {
    format: Option<OutputFormat>,
    file: Option<File>,
}

impl Out {
    fn take(&mut self, stream: &mut dyn IoStream, listener: &mut Listener) -> Result<Written, TraceError> {
        if let (Some(format), Some(file)) = (self.format, &mut self.file) {
            return write_trace(stream, format, file, &mut |ios| listener.hear(ios));
        }
        let mut batch = Vec::new();
        let mut written = Written::default();
        while stream.read(&mut batch)? {
            written.ios += batch.len() as u64;
            listener.hear(written.ios)?;
        }
        Ok(written)
    }
}

fn carry_out(order: Order, out: &mut Out, listener: &mut Listener) -> Result<Value, TraceError> {
    let mut inputs = order.traces;
    if inputs.iter().all(|input| input.place.is_none()) && inputs.len() == 1 {
        let mut trace = inputs.remove(0).open()?;
        let Some(filter) = order.filter else {
            let written = out.take(&mut trace, listener)?;
            let header = trace.header()?;
            return Ok(outcome(&[&trace], header, &written));
        };
        let mut filtered = Filtered::new(trace, filter, Trace::files);
        let written = out.take(&mut filtered, listener)?;
        let header = filtered.header()?;
        return Ok(outcome(&[filtered.whole()], header, &written));
    }
    let parts = inputs.into_iter().filter_map(|mut input| input.place.take().map(|place| input.part(place)));
    let mut merged = Merged::new(parts.collect())?;
    let written = out.take(&mut merged, listener)?;
    let header = merged.header()?;
    Ok(outcome(&merged.traces().collect::<Vec<_>>(), header, &written))
}

fn outcome(traces: &[&Trace], header: openpts_trace::TraceHeader, written: &Written) -> Value {
    let damages = traces.iter().flat_map(|trace| {
        trace.tally().first_damages.iter().map(|damage| {
            json!({ "file": trace.name_of(damage.file), "place": damage.place.to_string(), "class": damage.class })
        })
    });
    let gaps = traces.iter().flat_map(|trace| {
        trace.tally().first_losses.iter().map(|loss| {
            json!({ "cpu": loss.cpu, "from_ns": loss.from_ns, "to_ns": loss.to_ns, "records": loss.records })
        })
    });
    json!({
        "ios": written.ios,
        "losses": written.losses,
        "damages": damages.collect::<Vec<_>>(),
        "gaps": gaps.collect::<Vec<_>>(),
        "warnings": traces.iter().flat_map(|trace| trace.warnings()).collect::<Vec<_>>(),
        "meaning": header.class.meaning(),
        "header": header,
    })
}
