//! Texts that are recognized and can't be replayed: what they lack, and what to record instead.

use super::lines::head_lines;
use super::number::whole;
use crate::error::TraceError;
use crate::formats::{Format, HEAD_BYTES};

const HEAD_LINES: usize = 64;

/// A text that is refused with a reason.
macro_rules! refused {
    ($name:literal, $label:literal, $is_at_head:expr, $why:literal) => {
        Format {
            name: $name,
            label: $label,
            is_at_head: |head| $is_at_head(head),
            open: |_, _| Err(TraceError::Refused($why.into())),
        }
    };
}

/// All of them.
pub(crate) static FORMATS: &[Format] = &[
    refused!(
        "bpftrace_biosnoop",
        "output of bpftrace's biosnoop.bt (refused)",
        |head| any_line(head, |line| has_words(line, &["TIME(ms)", "COMM", "PID", "LAT(ms)"])),
        "cannot read output of bpftrace's biosnoop.bt: it has no sector, no size, and no direction; record with \
         biosnoop of bcc or of libbpf-tools, or with 'openpts capture'"
    ),
    refused!(
        "fio_iolog_1",
        "fio iolog, version 1 (refused)",
        |head| all_lines(head, |line| numbers(line, b',', &[3]).is_some_and(|numbers| numbers[0] <= 1)),
        "cannot read a fio iolog of version 1: it has no times and no files; fio writes version 3 today, record it \
         again"
    ),
    refused!(
        "fio_log_no_offset",
        "fio log without offsets (refused)",
        |head| all_lines(head, |line| {
            memchr::memmem::find(line, b", ").is_some()
                && numbers(line, b',', &[4, 5]).is_some_and(|numbers| numbers[2] <= 5)
        }),
        "cannot read a fio log without offsets: it does not say where the I/Os went; write it with log_offset=1, and \
         with log_issue_time=1 for the times of issue"
    ),
    refused!(
        "iostat",
        "output of iostat (refused)",
        |head| any_line(head, |line| line.starts_with(b"Device")
            && (has_words(line, &["r/s"]) || has_words(line, &["tps"]))),
        "cannot read output of iostat: it has sums over intervals, no I/Os; record with blktrace or 'openpts capture'"
    ),
    refused!(
        "blkiomon",
        "output of blkiomon (refused)",
        |head| any_line(head, |line| line.starts_with(b"sizes read (bytes):")),
        "cannot read output of blkiomon: it has sums over intervals, no I/Os; record with blktrace or \
         'openpts capture'"
    ),
    refused!(
        "strace",
        "system calls by strace (refused)",
        |head| all_lines(head, is_system_call),
        "cannot read output of strace: it has calls on files, whose places on a drive are not known; record with \
         blktrace or 'openpts capture'"
    ),
    refused!(
        "fiu_files",
        "FIU traces of file operations (refused)",
        |head| all_lines(head, is_fiu_file_operation),
        "cannot read FIU traces of file operations: files have no places on a drive; FIU's IODedup traces have"
    ),
    refused!(
        "nfsdump",
        "NFS calls by nfsdump (refused)",
        |head| all_lines(head, is_nfs_call),
        "cannot read NFS calls: they name file handles, whose places on a drive are not known; use a block trace"
    ),
    refused!(
        "cache_keys",
        "cache traces of Twitter, Meta or Wikipedia (refused)",
        |head| is_cache_header(head) || all_lines(head, is_twitter_request),
        "cannot read a trace of a cache: it names keys, no blocks, and its times are whole seconds; use a block trace"
    ),
];

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head_lines(head, head.len() < HEAD_BYTES).take(HEAD_LINES)
}

fn any_line(head: &[u8], is_it: impl Fn(&[u8]) -> bool) -> bool {
    lines(head).any(is_it)
}

/// Whether all lines are so, but for a few.
fn all_lines(head: &[u8], is_it: impl Fn(&[u8]) -> bool) -> bool {
    let (mut count, mut others) = (0, 0);
    for line in lines(head) {
        count += 1;
        others += usize::from(!is_it(line));
    }
    count > others && others * 8 <= count
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn has_words(line: &[u8], all: &[&str]) -> bool {
    all.iter().all(|wanted| words(line).any(|word| word == wanted.as_bytes()))
}

/// The fields of a line, if it has one of these numbers of them and all are numbers, in hexadecimal after `0x`.
fn numbers(line: &[u8], separator: u8, counts: &[usize]) -> Option<Vec<u64>> {
    let number = |field: &[u8]| {
        let field = field.trim_ascii();
        if field.starts_with(b"0x") { super::number::hexadecimal(field) } else { whole(field) }.ok()
    };
    let numbers: Vec<u64> = line.split(|byte| *byte == separator).map(number).collect::<Option<_>>()?;
    counts.contains(&numbers.len()).then_some(numbers)
}

/// `[pid] [time] name(...) = result`.
fn is_system_call(line: &[u8]) -> bool {
    let Some(open) = memchr::memchr(b'(', line) else { return false };
    let name = line[..open].rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    let is_name = name.first().is_some_and(u8::is_ascii_lowercase)
        && name.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_');
    is_name && memchr::memmem::find(line, b" = ").is_some()
}

/// `number ns operation inode ...`.
fn is_fiu_file_operation(line: &[u8]) -> bool {
    let mut words = words(line);
    let (number, ns, operation) = (words.next(), words.next(), words.next());
    [number, ns].iter().all(|word| word.is_some_and(|word| whole(word).is_ok()))
        && operation.is_some_and(|operation| {
            [&b"READ"[..], b"WRITE", b"OPEN", b"CLOSE", b"FSYNC", b"FDATASYNC"].contains(&operation)
        })
}

/// `time source destination U|T C2|C3|R2|R3 ...`.
fn is_nfs_call(line: &[u8]) -> bool {
    let words: Vec<_> = words(line).take(5).collect();
    matches!(words.as_slice(), [_, _, _, b"U" | b"T", b"C2" | b"C3" | b"R2" | b"R3"])
}

/// `seconds,key,key size,value size,client,operation,time to live`.
fn is_twitter_request(line: &[u8]) -> bool {
    let fields: Vec<_> = line.split(|byte| *byte == b',').collect();
    let [seconds, _, key_size, value_size, client, operation, ttl] = fields.as_slice() else { return false };
    [seconds, key_size, value_size, client, ttl].iter().all(|field| whole(field).is_ok())
        && [
            &b"get"[..],
            b"gets",
            b"set",
            b"add",
            b"replace",
            b"cas",
            b"append",
            b"prepend",
            b"delete",
            b"incr",
            b"decr",
        ]
        .contains(operation)
}

fn is_cache_header(head: &[u8]) -> bool {
    let first = lines(head).next().unwrap_or_default();
    [&b"op_time,key,"[..], b"key,op,size,op_count,key_size", b"relative_unix"]
        .iter()
        .any(|names| first.starts_with(names))
}
