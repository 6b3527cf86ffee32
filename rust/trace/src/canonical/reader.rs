//! Reads the canonical form.

use super::super::error::TraceError;
use super::super::header::TraceHeader;
use super::super::reader::{BATCH_IOS, Disorder, SourceFacts, TraceReader};
use super::super::tally::{Place, Tally};
use super::super::traced_io::TracedIo;
use super::columns::io_of;
use super::parquet_file::ParquetFile;
use super::reading::Group;
use super::schema::{HEADER_KEY, NAME, SCHEMA, VERSION, VERSION_KEY};

/// Reads a file in the canonical form.
pub(super) struct CanonicalReader {
    file: ParquetFile,
    header: TraceHeader,
    group: Option<Group>,
    next_group: usize,
    row: u64,
}

impl CanonicalReader {
    pub(super) fn new(file: ParquetFile) -> Result<Self, TraceError> {
        let refused = |why: String| Err(TraceError::Refused(format!("can't read {}: {why}", file.name)));
        match file.value(VERSION_KEY) {
            Some(VERSION) => {}
            Some(version) => {
                return refused(format!(
                    "it is a trace in version {version:.20} of the canonical form, and this openpts reads version \
                     {VERSION}; use the openpts that wrote it, or convert the original trace again"
                ));
            }
            None => {
                return refused(
                    "it is a Parquet file, but no trace of openpts: convert it to CSV first".into(),
                );
            }
        }
        let header = file.value(HEADER_KEY).map(serde_json::from_str::<TraceHeader>);
        let Some(Ok(header)) = header else {
            return refused("its header is damaged; convert the original trace again".into());
        };
        if !file.has_columns_of(SCHEMA) {
            return refused("its columns are not those of a trace; convert the original trace again".into());
        }
        Ok(Self { file, header, group: None, next_group: 0, row: 0 })
    }

    fn group(&mut self) -> Result<Option<&mut Group>, TraceError> {
        while self.group.as_ref().is_none_or(|group| group.rows() == 0) {
            if self.next_group == self.file.groups() {
                return Ok(None);
            }
            self.group = Some(self.file.with_group(self.next_group, |group| Group::new(group))?);
            self.next_group += 1;
        }
        Ok(self.group.as_mut())
    }
}

impl TraceReader for CanonicalReader {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        let devices = self.header.devices.len();
        let commands = self.header.commands.len().max(1);
        if self.group()?.is_none() {
            return Ok(false);
        }
        let group = self.group.as_mut().expect("just looked for");
        let rows = group.rows().min(BATCH_IOS);
        self.file.guarded(|| group.read(rows))?;
        for row in 0..rows {
            self.row += 1;
            let class = match io_of(group, row) {
                Some(io) if usize::from(io.device) >= devices || usize::from(io.command) >= commands => {
                    "device or command that the header does not have"
                }
                Some(io) => {
                    tally.accept();
                    batch.push(io);
                    continue;
                }
                None => "value out of range",
            };
            tally.damage(0, Place::Line(self.row), class);
        }
        Ok(true)
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts {
            format: NAME,
            level: self.header.level,
            resolution_ns: self.header.resolution_ns,
            epoch_ns: self.header.origin_utc_ns,
            has_completions: self.header.has_completions,
            has_issue_times: self.header.has_issue_times,
            devices: self.header.devices.clone(),
            commands: self.header.commands.clone(),
        }
    }

    fn disorder(&self) -> Disorder {
        Disorder::None
    }

    fn header(&self) -> Option<&TraceHeader> {
        Some(&self.header)
    }
}
