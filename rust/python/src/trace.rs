//! Traces: checked, with their figures, or written in another format, in one pass.

use std::fs::File;
use std::os::fd::RawFd;
use std::path::PathBuf;

use openpts_core::machine::Target;
use openpts_trace::{
    FORMATS, FigureTally, Figures, OpenOptions, OutputFormat, RECIPES, Trace, TraceError, Written,
    open_trace, why, write_trace,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::errors::value_error;

/// The files of a trace, how they are opened, and the format that they are written in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    paths: Vec<PathBuf>,
    options: OpenOptions,
    to: Option<String>,
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

/// Read a trace, and write it, or compute its figures; the order, and what came of it, are JSON.
#[pyfunction]
#[pyo3(signature = (order, *, descriptor, heard))]
pub(super) fn treat_trace(
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
    let out = format.zip(descriptor.map(duplicate).transpose()?);
    let mut listener = Listener { heard, error: None };
    let outcome = py.detach(|| carry_out(&order, out, &mut listener));
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

fn carry_out(
    order: &Order,
    out: Option<(OutputFormat, File)>,
    listener: &mut Listener,
) -> Result<Value, TraceError> {
    let mut trace = open_trace(&order.paths, &order.options)?;
    let (written, figures) = match out {
        Some((format, mut file)) => {
            (write_trace(&mut trace, format, &mut file, &mut |ios| listener.hear(ios))?, None)
        }
        None => {
            let (ios, figures) = figures(&mut trace, listener)?;
            (Written { ios, ..Written::default() }, Some(figures))
        }
    };
    outcome(&trace, &written, figures.as_ref())
}

fn figures(trace: &mut Trace, listener: &mut Listener) -> Result<(u64, Figures), TraceError> {
    let (mut batch, mut ios, mut tally) = (Vec::new(), 0, FigureTally::default());
    while trace.read(&mut batch)? {
        ios += batch.len() as u64;
        batch.iter().try_for_each(|io| tally.push(io))?;
        listener.hear(ios)?;
    }
    Ok((ios, tally.finish()))
}

fn outcome(trace: &Trace, written: &Written, figures: Option<&Figures>) -> Result<Value, TraceError> {
    let header = trace.header()?;
    let tally = trace.tally();
    let damages = tally.first_damages.iter().map(|damage| {
        json!({ "file": trace.name_of(damage.file), "place": damage.place.to_string(), "class": damage.class })
    });
    let gaps = tally.first_losses.iter().map(|loss| {
        json!({ "cpu": loss.cpu, "from_ns": loss.from_ns, "to_ns": loss.to_ns, "records": loss.records })
    });
    Ok(json!({
        "ios": written.ios,
        "losses": written.losses,
        "damages": damages.collect::<Vec<_>>(),
        "gaps": gaps.collect::<Vec<_>>(),
        "warnings": trace.warnings(),
        "meaning": header.class.meaning(),
        "figures": figures,
        "header": header,
    }))
}
