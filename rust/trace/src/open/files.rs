//! The files that paths stand for.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::super::error::TraceError;
use super::super::recipe;
use super::super::source::Source;
use super::fingerprint::Fingerprint;
use super::layers::{Bytes, uncovered};
use super::tar_members::{is_tar, members_of};
use super::{Opened, STDIN};

const BUFFER_BYTES: usize = 1 << 18;

/// What some paths stand for.
#[derive(Default)]
pub(in super::super) struct Sources {
    /// In the order of the paths.
    pub(in super::super) opened: Vec<Opened>,
    pub(in super::super) fingerprints: Vec<Fingerprint>,
    /// Members of archives that are no traces.
    pub(in super::super) left_out: Vec<String>,
}

/// All sources of some paths.
pub(in super::super) fn sources_of(paths: &[PathBuf]) -> Result<Sources, TraceError> {
    if paths.is_empty() {
        return Err(TraceError::Refused("no trace is given: name its files, or - for standard input".into()));
    }
    if paths.iter().filter(|path| path.as_os_str() == STDIN).count() > 1 {
        return Err(TraceError::Refused("standard input can be read only once: name - once".into()));
    }
    let Sources { mut opened, mut fingerprints, mut left_out } = Sources::default();
    for path in paths {
        if let Some(text) = recipe::shipped(path)? {
            fingerprints.push(Fingerprint::of_text(path, text));
            let source = Source { path: path.clone(), bytes: Box::new(text.as_bytes()) };
            opened.push(Opened { source, head: Some(text.as_bytes().to_vec()) });
            continue;
        }
        for path in files_at(path)? {
            let failed = |source| TraceError::File { path: path.clone(), source };
            let fingerprint = Fingerprint::new(&path);
            let (head, bytes) = begin(&path, &fingerprint).and_then(uncovered).map_err(failed)?;
            fingerprints.push(fingerprint);
            if is_tar(&head) {
                let (members, others) = members_of(&path, bytes)?;
                opened.extend(members);
                left_out.extend(others);
            } else {
                opened.push(Opened { source: Source { path, bytes }, head: Some(head) });
            }
        }
    }
    Ok(Sources { opened, fingerprints, left_out })
}

fn begin(path: &Path, fingerprint: &Fingerprint) -> io::Result<Bytes> {
    let bytes: Box<dyn Read + Send> =
        if path.as_os_str() == STDIN { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, fingerprint.of(bytes))))
}

/// The path itself, or the captures in the folder that it names.
fn files_at(path: &Path) -> Result<Vec<PathBuf>, TraceError> {
    if path.as_os_str() == STDIN || !path.is_dir() {
        return Ok(vec![path.into()]);
    }
    let failed = |source| TraceError::File { path: path.into(), source };
    let mut captures = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let is_capture = name.to_str().is_some_and(|name| {
            name.strip_prefix("capture-").and_then(|rest| rest.strip_suffix(".parquet")).is_some()
        });
        if is_capture {
            captures.push(path.join(name));
        }
    }
    if captures.is_empty() {
        return Err(TraceError::Refused(format!(
            "can't read {}: it is a folder without capture-*.parquet; name the files of the trace",
            path.display()
        )));
    }
    captures.sort();
    Ok(captures)
}
