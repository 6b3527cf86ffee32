//! Inputs that look like traces and can't be replayed: recognized, to be refused with a reason.

use std::path::Path;

/// Something that is no trace of block I/O.
pub struct NotTrace {
    /// What it is.
    pub what: &'static str,
    /// Why it is of no use.
    pub why: &'static str,
    /// What to do.
    pub instead: &'static str,
    /// Whether a file that begins so is of this kind.
    is_at_head: fn(&[u8]) -> bool,
}

const KEYS: &str = "it has keys of a cache and no places on a drive, in whole seconds";
const BLOCKS: &str = "record the drives of such a system with `openpts capture`";

/// Why a fio log that reads like one of latencies is none, or can't be told from one of bandwidth, by its name or its
/// values.
pub(super) fn why_no_latencies(path: &Path, head: Option<&[u8]>) -> Option<String> {
    const FEWEST_LINES: usize = 8;
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_log_of = |kind: &str| name.contains(&format!("_{kind}.")) && name.contains(".log");
    let lines: Vec<LogLine> =
        text(head.unwrap_or_default()).into_iter().flat_map(str::lines).map_while(LogLine::of).collect();
    let is_long = lines.len() >= FEWEST_LINES;
    let of_rates = if is_long { is_bandwidth(&lines) } else { Some(false) };
    let what = if is_log_of("bw") || of_rates == Some(true) {
        "bandwidth"
    } else if is_log_of("iops") || is_long && lines.iter().all(|line| line.value == 1) {
        "IOPS"
    } else if is_log_of("slat") {
        "times of submission"
    } else if of_rates.is_some() || is_log_of("lat") || is_log_of("clat") {
        return None;
    } else {
        return Some(
            "its values may be fio's latencies or its bandwidth, and its name doesn't say which; if write_lat_log has \
             written it, give it a name that ends in _lat.1.log"
                .into(),
        );
    };
    Some(format!(
        "it looks like fio's log of {what}, whose second column is no latency of an I/O; give the log that write_lat_log \
         has written with log_offset=1"
    ))
}

/// A line of a fio log: a latency in ns, or fio's rate in its place.
struct LogLine {
    /// When the I/O was completed, since the job began.
    ended_ms: u64,
    value: u64,
    bytes: u64,
}

impl LogLine {
    fn of(line: &str) -> Option<Self> {
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        let number = |at: usize| fields.get(at)?.parse().ok();
        Some(Self { ended_ms: number(0)?, value: number(1)?, bytes: number(3)? })
    }

    /// What fio divides by an I/O's latency in ns, to have its rate in kB/s without the fraction.
    fn dividend(&self) -> u128 {
        u128::from(self.bytes) * 1_000_000
    }
}

/// Whether the values are rates in kB/s and no latencies; `None` where they may be either.
///
/// Whole latencies leave out the more rates, the higher these are, and a latency is among them by chance alone. A
/// latency that a rate stands for is not longer than the log was then.
fn is_bandwidth(lines: &[LogLine]) -> Option<bool> {
    const CHANCE: f64 = 1e-9;
    let mut chance = 1.0;
    for line in lines.iter().filter(|line| line.value > 0) {
        let (dividend, value) = (line.dividend(), u128::from(line.value));
        let (least_ns, most_ns) = (dividend / (value + 1), dividend / value);
        let is_rate = most_ns > 0 && dividend / most_ns == value;
        if !is_rate || least_ns > (u128::from(line.ended_ms) + 1) * 1_000_000 {
            return Some(false);
        }
        chance *= (dividend as f64 / (value * value) as f64).min(1.0);
    }
    (chance < CHANCE || fills_time_as_rates(lines)).then_some(true)
}

/// Whether values in kB/s times ms since the start are the bytes of the first I/O, and all of them fill the log's time
/// as rates, and next to none of it as ns.
fn fills_time_as_rates(lines: &[LogLine]) -> bool {
    const BUSY: f64 = 0.1;
    const RATES_BUSY: f64 = 0.5;
    let LogLine { ended_ms: first_ms, value: first, bytes: first_bytes } = lines[0];
    let bytes_of = |ms: u64| first as f64 * 1.024 * ms as f64;
    let is_first =
        first_ms > 1 && (bytes_of(first_ms - 1)..=bytes_of(first_ms + 1)).contains(&(first_bytes as f64));
    let span_ms = lines[lines.len() - 1].ended_ms.saturating_sub(first_ms) as f64;
    let as_ns_ms: f64 = lines.iter().map(|line| line.value as f64 / 1e6).sum();
    let as_rates_ms: f64 = lines.iter().map(|line| line.bytes as f64 / (line.value as f64 * 1.024)).sum();
    is_first && as_ns_ms < BUSY * span_ms && as_rates_ms > RATES_BUSY * span_ms
}

/// All of them.
pub static NOT_TRACES: &[NotTrace] = &[
    NotTrace {
        what: "a trace of a cache with keys (Twitter)",
        why: KEYS,
        instead: BLOCKS,
        is_at_head: |head| {
            lines_are(head, ',', |fields| {
                fields.len() == 7
                    && is_number(fields[0])
                    && (2..5).all(|field| is_number(fields[field]))
                    && [
                        "get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr",
                        "decr",
                    ]
                    .contains(&fields[5])
            })
        },
    },
    NotTrace {
        what: "a trace of a cache with keys (Meta)",
        why: KEYS,
        instead: BLOCKS,
        is_at_head: |head| begins(head, "key,op,size,op_count") || begins(head, "op_time,key,key_size,op,"),
    },
    NotTrace {
        what: "a trace of web requests (Wikipedia)",
        why: "it has requests for pages and images and no places on a drive",
        instead: BLOCKS,
        is_at_head: |head| {
            begins(head, "relative_unix\t")
                || lines_are(head, ' ', |fields| {
                    fields.len() == 4 && is_number(fields[0]) && fields[2].starts_with("http")
                })
        },
    },
    NotTrace {
        what: "a trace of a content network (Akamai)",
        why: KEYS,
        instead: BLOCKS,
        is_at_head: |head| {
            lines_are(head, ' ', |fields| fields.len() == 3 && fields.iter().all(|field| is_number(field)))
                || begins(head, "timestamp,object_id,")
        },
    },
    NotTrace {
        what: "a trace for cache simulators (LCS)",
        why: "it has objects without direction and place",
        instead: "use the trace that it was made of",
        is_at_head: |head| head.starts_with(&0x1234_5678_9abc_def0_u64.to_le_bytes()),
    },
    NotTrace {
        what: "a trace of a network file system (nfsdump)",
        why: "it has file handles and no places on a drive",
        instead: "record the server's drives with `openpts capture`",
        is_at_head: |head| {
            lines_are(head, ' ', |fields| {
                fields.len() > 6 && ["C3", "R3", "C2", "R2"].iter().any(|call| fields[1..7].contains(call))
            })
        },
    },
    NotTrace {
        what: "a trace of a network file system (DataSeries)",
        why: "it has file handles and no places on a drive",
        instead: "record the server's drives with `openpts capture`",
        is_at_head: |head| head.starts_with(b"DSv1"),
    },
    NotTrace {
        what: "a trace of system calls (strace)",
        why: "it has calls on files and no places on a drive",
        instead: "record the drive below the file system with `openpts capture`",
        is_at_head: |head| {
            lines_are(head, '\0', |fields| {
                let line =
                    fields[0].trim_start_matches(|c: char| c.is_ascii_digit() || ".: []pid".contains(c));
                line.find('(').is_some_and(|at| at > 0 && is_word(&line[..at])) && line.contains(") = ")
            })
        },
    },
    NotTrace {
        what: "a trace of files (Android ioshark)",
        why: "it has calls on files and no places on a drive",
        instead: "record the drive below the file system with `openpts capture`",
        is_at_head: |head| {
            let number = |at: usize| Some(u64::from_be_bytes(head.get(at..at + 8)?.try_into().ok()?));
            // Version, files, operations, the high bytes first.
            matches!(
                (number(0), number(8), number(16)),
                (Some(1..=9), Some(1..=1_000_000), Some(1..=1_000_000_000_000))
            )
        },
    },
    NotTrace {
        what: "output of bpftrace's biosnoop.bt",
        why: "it has no sector, no size and no direction",
        instead: "record with biosnoop of bcc or of libbpf-tools, or with `openpts capture`",
        is_at_head: |head| {
            text(head).is_some_and(|text| {
                text.lines().take(20).any(|line| {
                    let words: Vec<_> = line.split_whitespace().collect();
                    ["TIME(ms)", "COMM", "PID", "LAT(ms)"].iter().all(|word| words.contains(word))
                })
            })
        },
    },
    NotTrace {
        what: "a fio iolog of version 1",
        why: "it has no times",
        instead: "record it again: fio writes version 3 today",
        is_at_head: |head| {
            lines_are(head, ',', |fields| {
                fields.len() == 3
                    && ["0", "1"].contains(&fields[0])
                    && fields.iter().all(|field| is_number(field.trim()))
            })
        },
    },
    NotTrace {
        what: "a fio log without offsets",
        why: "it does not say where the I/Os went",
        instead: "write it with log_offset=1, and with log_issue_time=1 for the times of issue",
        is_at_head: |head| {
            lines_are(head, ',', |fields| {
                (4..=5).contains(&fields.len())
                    && fields[1..].iter().all(|field| field.starts_with(' '))
                    && fields[..4].iter().all(|field| is_number(field.trim()))
            })
        },
    },
    NotTrace {
        what: "a trace of file operations (FIU)",
        why: "it has files and no places on a drive",
        instead: "use one of FIU's IODedup traces, or record a drive with `openpts capture`",
        is_at_head: |head| {
            lines_are(head, ' ', |fields| {
                fields.len() > 3
                    && fields[..2].iter().all(|field| is_number(field))
                    && ["READ", "WRITE", "OPEN", "CLOSE", "FSYNC", "FDATASYNC"].contains(&fields[2])
            })
        },
    },
    NotTrace {
        what: "a zip archive",
        why: "its members can't be read here",
        instead: "unpack it and name the files of the trace, or give them as a tar archive",
        is_at_head: |head| head.starts_with(b"PK\x03\x04"),
    },
    NotTrace {
        what: "a histogram of latencies (bpftrace)",
        why: "it has no places and sizes of single I/Os",
        instead: "record them with `openpts capture`",
        is_at_head: |head| begins(head, "Attaching ") || begins(head, "TIME(ms)     DISK  COMM"),
    },
    NotTrace {
        what: "statistics of iostat",
        why: "they are sums over seconds without places of single I/Os",
        instead: "record them with `openpts capture`",
        is_at_head: |head| {
            text(head).is_some_and(|text| {
                text.lines()
                    .take(20)
                    .any(|line| line.starts_with("Device") && line.contains("r/s") && line.contains("w/s"))
                    || text.lines().take(20).any(|line| line.starts_with("Device") && line.contains("tps"))
            })
        },
    },
    NotTrace {
        what: "statistics of blkiomon",
        why: "they are sums over intervals without places of single I/Os",
        instead: "record them with `openpts capture`",
        is_at_head: |head| {
            text(head).is_some_and(|text| {
                text.lines().take(5).any(|line| {
                    line.starts_with("sizes read (bytes):")
                        || line.starts_with("time: ") && line.contains("device:")
                })
            })
        },
    },
    NotTrace {
        what: "statistics of a disk's load (averages over intervals)",
        why: "it has averages of rates without single I/Os",
        instead: "build a stimulus from its rates with `openpts io`",
        is_at_head: |head| {
            first_line(head).is_some_and(|line| {
                let line = line.to_ascii_lowercase();
                (line.contains("iops") || line.contains("read_bw")) && line.contains(',')
            })
        },
    },
];

/// What a file that begins so is, if it is known to be no trace.
pub(super) fn reason_not(head: &[u8]) -> Option<&'static NotTrace> {
    NOT_TRACES.iter().find(|not| (not.is_at_head)(head))
}

/// The head as text, without a line that is cut off.
fn text(head: &[u8]) -> Option<&str> {
    let end = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    std::str::from_utf8(&head[..end]).ok()
}

fn first_line(head: &[u8]) -> Option<&str> {
    text(head)?.lines().find(|line| !line.trim().is_empty())
}

fn begins(head: &[u8], with: &str) -> bool {
    first_line(head).is_some_and(|line| line.starts_with(with))
}

/// Whether the first lines all have this form.
fn lines_are(head: &[u8], separator: char, form: impl Fn(&[&str]) -> bool) -> bool {
    let Some(text) = text(head) else { return false };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(5).peekable();
    lines.peek().is_some() && lines.all(|line| form(&line.split(separator).collect::<Vec<_>>()))
}

fn is_number(field: &str) -> bool {
    !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
