//! What traces are like.

use std::path::PathBuf;

use openpts_trace::characterize::{By, Characterizer, of_step_table};
use openpts_trace::{
    BATCH_IOS, IoStream, Modeled, Modeler, OpenOptions, Trace, TraceError, TracedIo, TracedOperation,
    open_trace,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors::value_error;

/// Batches after which a signal is looked for.
const BATCHES_PER_LOOK: usize = 16;

/// Why a trace could not be characterized.
enum Failure {
    Trace(TraceError),
    Signal(PyErr),
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

/// All figures of a trace, as JSON: of the I/Os that were issued from one moment to before another.
#[pyfunction]
#[pyo3(signature = (paths, *, format, devices, by, from_ns, to_ns, takes_steps=false))]
#[expect(clippy::too_many_arguments, reason = "they have names")]
pub(super) fn characterize(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    format: Option<String>,
    devices: Vec<String>,
    by: Option<&str>,
    from_ns: i64,
    to_ns: i64,
    takes_steps: bool,
) -> PyResult<String> {
    let by = match by {
        None => None,
        Some("device") => Some(By::Device),
        Some("process") => Some(By::Process),
        Some("stream") => Some(By::Stream),
        Some(other) => {
            return Err(PyValueError::new_err(format!("{other} is not device, process or stream")));
        }
    };
    let options = OpenOptions { format, devices, ..OpenOptions::default() };
    py.detach(|| figures(&paths, &options, by, from_ns..to_ns, takes_steps)).map_err(
        |failure| match failure {
            Failure::Trace(error) => value_error(error),
            Failure::Signal(error) => error,
        },
    )
}

fn figures(
    paths: &[PathBuf],
    options: &OpenOptions,
    by: Option<By>,
    span_ns: std::ops::Range<i64>,
    takes_steps: bool,
) -> Result<String, Failure> {
    let mut trace = match (open_trace(paths, options), paths) {
        (Err(TraceError::StepTable { .. }), [path]) if takes_steps => {
            return Ok(of_step_table(path)?.to_string());
        }
        (opened, _) => opened?,
    };
    let mut characterizer = Characterizer::new(by);
    each_io(&mut trace, span_ns, |io| characterizer.push(io))?;
    let mut figures = characterizer.finish(&trace.facts())?;
    let header = trace.header()?;
    figures["trace"] = serde_json::json!({
        "files": trace.names(), "header": header, "warnings": trace.warnings(), "meaning": header.class.meaning(),
    });
    Ok(figures.to_string())
}

/// What a model of a trace has beyond its figures, as JSON.
#[pyfunction]
#[pyo3(signature = (paths, *, format, devices, from_ns, to_ns, streams, couplings))]
#[expect(clippy::too_many_arguments, reason = "they have names")]
pub(super) fn model_trace(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    format: Option<String>,
    devices: Vec<String>,
    from_ns: i64,
    to_ns: i64,
    streams: Vec<(String, u64)>,
    couplings: Vec<(Vec<usize>, u64)>,
) -> PyResult<String> {
    let operation = |name: &str| TracedOperation::ALL.into_iter().find(|one| one.name() == name);
    let streams: Option<Vec<Modeled>> =
        streams.iter().map(|(name, size_bytes)| Some((operation(name)?, *size_bytes))).collect();
    let streams = streams.ok_or_else(|| PyValueError::new_err("a stream has no known operation"))?;
    let options = OpenOptions { format, devices, ..OpenOptions::default() };
    let modeled = || {
        let mut modeler = Modeler::new(streams, couplings, from_ns..to_ns);
        each_io(&mut open_trace(&paths, &options)?, from_ns..to_ns, |io| {
            modeler.push(io);
            Ok(())
        })?;
        Ok(modeler.finish().to_string())
    };
    py.detach(modeled).map_err(|failure| match failure {
        Failure::Trace(error) => value_error(error),
        Failure::Signal(error) => error,
    })
}

fn each_io(
    trace: &mut Trace,
    span_ns: std::ops::Range<i64>,
    mut take: impl FnMut(&TracedIo) -> Result<(), TraceError>,
) -> Result<(), Failure> {
    let mut batch = Vec::with_capacity(BATCH_IOS);
    let mut batches = 0usize;
    while trace.read(&mut batch)? {
        for io in batch.iter().filter(|io| span_ns.contains(&io.issued_ns)) {
            take(io)?;
        }
        batches += 1;
        if batches.is_multiple_of(BATCHES_PER_LOOK) {
            Python::attach(|py| py.check_signals()).map_err(Failure::Signal)?;
        }
    }
    Ok(())
}
