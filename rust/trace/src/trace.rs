//! A trace that can be used: opened, checked, in order, with times since its first I/O.

use std::path::PathBuf;

use serde::Deserialize;

use super::error::{TraceError, why};
use super::formats::{ReadOptions, Segments};
use super::header::{Change, Counts, FINE_NS, FidelityClass, SourceFile, TraceHeader};
use super::open::{Fingerprint, Sources, reader_of, sources_of};
use super::order::{External, Late, Plausible, Reorder, Spreader, Window, check};
use super::reader::{BATCH_IOS, Disorder, SourceFacts, TraceReader};
use super::tally::Tally;
use super::traced_io::TracedIo;

/// How a trace is opened.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenOptions {
    /// Name of the format, if it is not to be found by the contents.
    pub format: Option<String>,
    /// What the format leaves open.
    pub read: ReadOptions,
    /// How far I/Os may be from their place.
    pub reorder: Reorder,
    /// Names of the devices whose I/Os are wanted; all, if none is given.
    pub devices: Vec<String>,
    /// Share of damaged records above which the trace is refused.
    pub damaged_limit: f64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            format: None,
            read: ReadOptions::default(),
            reorder: Reorder::default(),
            devices: Vec::new(),
            damaged_limit: 0.001,
        }
    }
}

/// Open the files of one trace, `-` for standard input, in this order.
///
/// # Errors
/// If they can't be read, or are no trace.
pub fn open_trace(paths: &[PathBuf], options: &OpenOptions) -> Result<Trace, TraceError> {
    let Sources { opened, fingerprints, left_out } = sources_of(paths)?;
    let names = opened.iter().map(|opened| opened.source.path.display().to_string()).collect();
    let reader = reader_of(opened, options.format.as_deref(), &options.read)?;
    Ok(Trace { left_out, ..Trace::new(reader, names, fingerprints, options) })
}

enum Sorter {
    Window(Window),
    External(External),
}

/// A trace in order.
pub struct Trace {
    reader: Box<dyn TraceReader>,
    names: Vec<String>,
    fingerprints: Vec<Fingerprint>,
    files: Vec<SourceFile>,
    left_out: Vec<String>,
    sorter: Sorter,
    /// Once the source's resolution is known, and if it is coarse.
    spreader: Option<Spreader>,
    options: OpenOptions,
    tally: Tally,
    plausible: Plausible,
    /// The source's time of the first I/O.
    origin_ns: Option<i64>,
    is_selected: Vec<bool>,
    fetched: Vec<TracedIo>,
    sorted: Vec<TracedIo>,
    has_begun: bool,
    is_read: bool,
    has_ended: bool,
}

impl Trace {
    fn new(
        reader: Box<dyn TraceReader>,
        names: Vec<String>,
        fingerprints: Vec<Fingerprint>,
        options: &OpenOptions,
    ) -> Self {
        // Recordings that begin at the same moment are one after the other in their file.
        let is_overlaid = options.read.segments == Segments::Merge;
        let sorter = match (options.reorder, reader.disorder()) {
            (Reorder::Within(window_ns), Disorder::Near | Disorder::None) if !is_overlaid => {
                Sorter::Window(Window::new(window_ns))
            }
            _ => Sorter::External(External::default()),
        };
        Self {
            origin_ns: (reader.disorder() == Disorder::None).then_some(0),
            reader,
            names,
            fingerprints,
            files: Vec::new(),
            left_out: Vec::new(),
            sorter,
            spreader: None,
            options: options.clone(),
            tally: Tally::default(),
            plausible: Plausible::default(),
            is_selected: Vec::new(),
            fetched: Vec::with_capacity(BATCH_IOS),
            sorted: Vec::new(),
            has_begun: false,
            is_read: false,
            has_ended: false,
        }
    }

    /// What became of the records so far.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What the source says about itself, as far as it was read.
    #[must_use]
    pub fn facts(&self) -> SourceFacts {
        self.reader.facts()
    }

    /// Names of the files, by number, as messages have them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a file by its number; of the last one, if a reader is past it.
    #[must_use]
    pub fn name_of(&self, file: usize) -> &str {
        self.names.get(file).or(self.names.last()).map_or("", String::as_str)
    }

    /// Sentences about what looks wrong, once all was read.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.plausible.warnings(&self.reader.facts());
        if !self.left_out.is_empty() {
            warnings.push(format!("left out as no traces by their names: {}", self.left_out.join(", ")));
        }
        warnings
    }

    /// The files with their hashes; none before all was read.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Read a batch of the source, and hand it to the sorter.
    fn fetch(&mut self) -> Result<(), TraceError> {
        self.fetched.clear();
        self.is_read = !self.reader.read(&mut self.fetched, &mut self.tally)?;
        check(&mut self.fetched, &*self.reader, &mut self.tally);
        if !self.options.devices.is_empty() {
            self.select();
        }
        if !self.has_begun && !self.fetched.is_empty() {
            self.has_begun = true;
            let resolution_ns = self.reader.facts().resolution_ns;
            if resolution_ns > FINE_NS && self.reader.disorder() != Disorder::None {
                self.spreader = Some(Spreader::new(self.options.read.spread, resolution_ns));
            }
        }
        match &mut self.sorter {
            Sorter::Window(window) => {
                window.push(&mut self.fetched, &mut self.tally).map_err(|late| self.too_late(late))
            }
            Sorter::External(external) => external.push(&mut self.fetched, &mut self.tally).map_err(unsorted),
        }
    }

    fn too_late(&self, late: Late) -> TraceError {
        let file = self.name_of(self.reader.current_file());
        TraceError::Refused(format!(
            "can't put {file} in order: {} is {}.{:09} s earlier than a record before it; sort it on disk with \
             --reorder any, or, if these are several recordings, give one at a time",
            self.reader.place(late.io.source_position),
            late.by_ns / 1_000_000_000,
            late.by_ns % 1_000_000_000,
        ))
    }

    /// Drop I/Os of devices that are not asked for.
    fn select(&mut self) {
        let known = self.is_selected.len();
        if self.fetched.iter().any(|io| usize::from(io.device) >= known) {
            let devices = self.reader.facts().devices;
            self.is_selected =
                devices.iter().map(|device| self.options.devices.contains(&device.name)).collect();
        }
        let before = self.fetched.len();
        let is_selected = &self.is_selected;
        self.fetched.retain(|io| is_selected.get(usize::from(io.device)).copied().unwrap_or(false));
        let dropped = (before - self.fetched.len()) as u64;
        if dropped > 0 {
            *self.tally.notes.entry("of devices that are not selected").or_default() += dropped;
        }
    }

    /// Take from the sorter what is certain to be in order.
    fn take_sorted(&mut self) -> Result<bool, TraceError> {
        self.sorted.clear();
        match &mut self.sorter {
            Sorter::Window(window) => Ok(window.pop(&mut self.sorted, self.is_read)),
            Sorter::External(external) if self.is_read => external.pop(&mut self.sorted).map_err(unsorted),
            Sorter::External(_) => Ok(false),
        }
    }

    /// Check at the end what only the whole can show.
    fn end(&mut self) -> Result<(), TraceError> {
        self.has_ended = true;
        self.files = self.fingerprints.iter().map(Fingerprint::finish).collect::<Result<_, _>>()?;
        let devices = self.reader.facts().devices;
        for name in &self.options.devices {
            if !devices.iter().any(|device| device.name == *name) {
                let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
                return Err(TraceError::Refused(format!(
                    "can't select --device {name}: the trace has {}",
                    if names.is_empty() { "no devices".into() } else { names.join(", ") }
                )));
            }
        }
        let damaged = self.tally.damaged_total();
        let limit = self.options.damaged_limit;
        if damaged > 0 && damaged as f64 > limit * self.tally.read as f64 {
            let first = self.tally.first_damages.first().map_or_else(String::new, |damage| {
                format!("at {} of {}: {}", damage.place, self.name_of(damage.file), damage.class)
            });
            return Err(TraceError::Damaged { records: self.tally.read, damaged, limit, first });
        }
        if self.tally.read == 0 {
            return Err(TraceError::Refused(format!(
                "can't use {}: it has no records",
                self.names.join(", ")
            )));
        }
        if self.plausible.ios() == 0 {
            return Err(self.without_ios());
        }
        Ok(())
    }

    fn without_ios(&self) -> TraceError {
        let tally = &self.tally;
        let left_out = tally.skipped.iter().chain(&tally.damaged).chain(&tally.notes);
        let parts: Vec<_> = left_out.map(|(why, count)| format!("{count}: {why}")).collect();
        let is_log = self.reader.facts().format.starts_with("fio_log");
        TraceError::Refused(format!(
            "can't use {}: it has no I/O; of its {} records {}{}",
            self.names.join(", "),
            tally.read,
            if parts.is_empty() { "none is one".into() } else { parts.join(", ") },
            if is_log { "; a log of averages has no single I/Os: write it without log_avg_msec" } else { "" }
        ))
    }

    fn finish(&mut self, batch: &mut [TracedIo]) {
        let Some(first) = batch.first() else { return };
        let origin_ns = *self.origin_ns.get_or_insert(first.issued_ns);
        if origin_ns != 0 {
            for io in batch.iter_mut() {
                // Neither overflows: times were checked.
                io.issued_ns -= origin_ns;
                io.completed_ns = io.completed_ns.map(|completed_ns| completed_ns.saturating_sub(origin_ns));
            }
        }
        self.plausible.add(batch);
    }

    /// Replace what is in the batch by the next I/Os; false once there are no more.
    ///
    /// # Errors
    /// If the trace can't be read, or not in order, or is refused at its end because too much of it is damaged.
    pub fn read(&mut self, batch: &mut Vec<TracedIo>) -> Result<bool, TraceError> {
        batch.clear();
        while batch.is_empty() {
            if self.has_ended {
                return Ok(false);
            }
            if self.take_sorted()? {
                match &mut self.spreader {
                    Some(spreader) => spreader.push(&self.sorted, batch, &mut self.tally)?,
                    None => std::mem::swap(batch, &mut self.sorted),
                }
            } else if self.is_read {
                if let Some(spreader) = &mut self.spreader {
                    spreader.finish(batch, &mut self.tally);
                }
                self.end()?;
            } else {
                self.fetch()?;
            }
        }
        self.finish(batch);
        Ok(true)
    }

    /// What the trace says about itself. Complete once all was read.
    ///
    /// # Errors
    /// If a source can't be read again for its hash.
    pub fn header(&self) -> Result<TraceHeader, TraceError> {
        if let Some(header) = self.reader.header() {
            let mut header = header.clone();
            if !self.options.devices.is_empty() {
                let done = format!("devices selected: {}", self.options.devices.join(", "));
                header.changes.push(Change { done, parents: self.files.clone() });
            }
            return Ok(header);
        }
        let facts = self.reader.facts();
        Ok(TraceHeader {
            format: facts.format.into(),
            level: facts.level,
            class: FidelityClass::of(&facts),
            resolution_ns: facts.resolution_ns,
            origin_utc_ns: facts
                .epoch_ns
                .and_then(|epoch_ns| epoch_ns.checked_add(self.origin_ns.unwrap_or(0))),
            has_completions: facts.has_completions,
            has_issue_times: facts.has_issue_times,
            devices: facts.devices,
            commands: facts.commands,
            sources: self.files.clone(),
            records: Counts::from(&self.tally),
            changes: Vec::new(),
        })
    }
}

fn unsorted(source: std::io::Error) -> TraceError {
    TraceError::Refused(format!(
        "can't sort the trace on disk: {}; make space in {}, or set TMPDIR to a folder that has it",
        why(&source),
        std::env::temp_dir().display()
    ))
}
