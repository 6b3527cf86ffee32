//! Which format sources are in, by their contents.

use super::super::all_formats::FORMATS;
use super::super::error::TraceError;
use super::super::formats::{Format, ReadOptions};
use super::super::reader::TraceReader;
use super::Opened;
use super::not_traces::{reason_not, why_no_latencies};

/// The reader of some sources, by name of the format or by their contents.
pub(in super::super) fn reader_of(
    opened: Vec<Opened>,
    format: Option<&str>,
    options: &ReadOptions,
) -> Result<Box<dyn TraceReader>, TraceError> {
    let format = match format {
        Some(name) => named(name)?,
        None => detected(&opened)?,
    };
    if format.name.starts_with("fio_log") {
        refuse_no_latencies(&opened)?;
    }
    (format.open)(opened.into_iter().map(|opened| opened.source).collect(), options)
}

/// fio's logs of all kinds have the same columns.
fn refuse_no_latencies(opened: &[Opened]) -> Result<(), TraceError> {
    for source in opened {
        if let Some(why) = why_no_latencies(&source.source.path, source.head.as_deref()) {
            let path = source.source.path.display();
            return Err(TraceError::Refused(format!("can't read {path}: {why}")));
        }
    }
    Ok(())
}

/// The format that a source is nearest to, and what it lacks.
fn nearest(head: &[u8]) -> String {
    let near = all().filter_map(|format| Some((format, (format.nearness)(head)?)));
    let nearest = near.reduce(|best, one| if one.1.0 > best.1.0 { one } else { best });
    nearest
        .map_or_else(String::new, |(format, (_, lack))| format!("; the nearest is {}: {lack}", format.name))
}

fn all() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().flatten()
}

fn names(formats: impl Iterator<Item = &'static Format>) -> String {
    formats.map(|format| format.name).collect::<Vec<_>>().join(", ")
}

fn named(name: &str) -> Result<&'static Format, TraceError> {
    all()
        .find(|format| format.name == name)
        .ok_or_else(|| TraceError::Refused(format!("unknown --format {name:?}: use one of {}", names(all()))))
}

/// The format of all sources, or an error if they are of several.
fn detected(opened: &[Opened]) -> Result<&'static Format, TraceError> {
    let mut found: Option<(&'static Format, &Opened)> = None;
    for source in opened {
        let Some(head) = &source.head else { continue };
        let format = of_head(head, source)?;
        if let Some((first, of)) = found.filter(|(first, _)| first.name != format.name) {
            return Err(TraceError::Refused(format!(
                "can't read several formats as one trace: {} looks like {}, {} like {}; give one at a time",
                of.source.path.display(),
                first.name,
                source.source.path.display(),
                format.name
            )));
        }
        found = Some((format, source));
    }
    found.map(|(format, _)| format).ok_or_else(|| TraceError::Refused("no file is given".into()))
}

fn of_head(head: &[u8], opened: &Opened) -> Result<&'static Format, TraceError> {
    let name = opened.source.path.display();
    let refused = |why: String| Err(TraceError::Refused(format!("can't read {name}: {why}")));
    if head.is_empty() {
        return refused("it is empty".into());
    }
    let candidates: Vec<_> = all().filter(|format| (format.is_at_head)(head)).collect();
    match candidates[..] {
        [format] => Ok(format),
        [] => match reason_not(head) {
            Some(not) => refused(format!("it looks like {}: {}; {}", not.what, not.why, not.instead)),
            None => refused(format!(
                "its contents are of no known format{}; if it is one of those that `openpts trace --help` lists, name it with \
                 --format; --columns describes another",
                nearest(head)
            )),
        },
        _ => refused(format!(
            "its contents may be of several formats; name the right one with --format: {}",
            names(candidates.into_iter())
        )),
    }
}
