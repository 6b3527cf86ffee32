//! Traces are found by their contents, through compressions and archives; what is no trace is refused with a reason.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::support::{read_bytes, read_file, read_with, reads_at};
use openpts_trace::{FORMATS, NOT_TRACES, OpenOptions, Trace, TraceError, open_trace};
use tempfile::{TempDir, tempdir};

fn why<T>(result: Result<T, TraceError>) -> String {
    result.err().expect("an error").to_string()
}

fn plain() -> Vec<u8> {
    reads_at((0..5000).map(|number| 1_000_000 + number * 3))
}

/// So many lines, and the others.
fn split_at_line(bytes: &[u8], lines: usize) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.split_inclusive(|byte| *byte == b'\n').take(lines).map(<[u8]>::len).sum())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn compressed(bytes: &[u8]) -> [Vec<u8>; 4] {
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(bytes).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
    xz.write_all(bytes).unwrap();
    [gzip(bytes), zstd::encode_all(bytes, 1).unwrap(), bzip2.finish().unwrap(), xz.finish().unwrap()]
}

#[test]
fn compressions_are_read_through_also_within_each_other_and_in_several_pieces() {
    let whole = read_bytes(&plain(), &OpenOptions::default()).unwrap().ios;
    for bytes in compressed(&plain()) {
        assert_eq!(read_bytes(&bytes, &OpenOptions::default()).unwrap().ios, whole);
        assert_eq!(read_bytes(&gzip(&bytes), &OpenOptions::default()).unwrap().ios, whole);
        // A cut is damage, or an error, and never silence.
        let cut = read_bytes(&bytes[..bytes.len() / 2], &OpenOptions::default());
        assert!(cut.is_err());
    }
    let bytes = plain();
    let (first, second) = split_at_line(&bytes, 2222);
    for (one, other) in compressed(first).into_iter().zip(compressed(second)) {
        assert_eq!(read_bytes(&[one, other].concat(), &OpenOptions::default()).unwrap().ios, whole);
    }
}

fn tar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn members_of_archives_are_read_in_turn() {
    let whole = read_bytes(&plain(), &OpenOptions::default()).unwrap().ios;
    let bytes = plain();
    let (first, second) = split_at_line(&bytes, 3333);
    let long_name = "folder/".repeat(30) + "second";
    let members = [("first", first.to_vec()), ("empty", Vec::new()), (&long_name, gzip(second))];
    for archive in [tar(&members), gzip(&tar(&members))] {
        let read = read_bytes(&archive, &OpenOptions::default()).unwrap();
        assert_eq!(read.ios.len(), whole.len());
        assert!(read.ios.iter().zip(&whole).all(|(ours, theirs)| ours.issued_ns == theirs.issued_ns));
        assert_eq!(read.trace.names().len(), 2);
    }
    let folder = tempdir().unwrap();
    let mut cut = tar(&members);
    cut.truncate(cut.len() / 3);
    assert!(read_bytes(&cut, &OpenOptions::default()).is_err());
    let mut wrong = tar(&members);
    wrong[0] ^= 1;
    assert!(why(read_bytes(&wrong, &OpenOptions::default())).contains("checksum"));
    drop(folder);
}

#[test]
fn several_files_are_one_trace_in_the_order_given() {
    let folder = tempdir().unwrap();
    let bytes = plain();
    let (first, second) = split_at_line(&bytes, 100);
    let paths = [folder.path().join("a"), folder.path().join("b")];
    fs::write(&paths[0], first).unwrap();
    fs::write(&paths[1], gzip(second)).unwrap();
    let read = read_with(&paths, &OpenOptions::default()).unwrap();
    assert_eq!(read.ios.len(), 5000);
    let header = read.trace.header().unwrap();
    let names: Vec<_> = header.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(header.sources[0].bytes, first.len() as u64);
}

#[test]
fn the_hash_is_that_of_the_file() {
    use sha2::{Digest, Sha256};
    let bytes = gzip(&plain());
    let read = read_bytes(&bytes, &OpenOptions::default()).unwrap();
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(read.trace.header().unwrap().sources[0].sha256, hash);
}

#[test]
fn what_can_not_be_read_is_refused_with_a_reason() {
    let none = why(open_trace(&[], &OpenOptions::default()));
    assert!(none.contains("no trace is given"), "{none}");
    let missing = why(read_file(Path::new("/nonexistent/trace")));
    assert!(missing.contains("/nonexistent/trace"), "{missing}");
    assert!(why(read_bytes(b"", &OpenOptions::default())).contains("it is empty"));
    assert!(why(read_bytes(b"\x00\x01hello\xff", &OpenOptions::default())).contains("no known format"));
    let twice = why(open_trace(&["-".into(), "-".into()], &OpenOptions::default()));
    assert!(twice.contains("only once"), "{twice}");
    let unknown = OpenOptions { format: Some("nonsense".into()), ..OpenOptions::default() };
    assert!(why(read_bytes(&plain(), &unknown)).contains("use one of openpts"));
    let stranger = OpenOptions { devices: vec!["sdz".into()], ..OpenOptions::default() };
    assert!(why(read_bytes(&plain(), &stranger)).contains("the trace has 1"));
}

#[test]
fn names_of_formats_are_their_own() {
    let mut names: Vec<_> = FORMATS.iter().copied().flatten().map(|format| format.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// A sample of each input that is recognized to be no trace.
const SAMPLES: [(&str, &[u8]); 18] = [
    ("Twitter", b"0,q:q:1:8WTfjZU14ee,17,213,4,get,0\n0,yDqF:3q:1AJrrJ1nnCJKKrnGx1A,27,27,5,get,0\n"),
    ("Meta", b"key,op,size,op_count,key_size\n1,GET,0,1,10\n"),
    ("Wikipedia", b"relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n5\t1\tjpeg\t9\t0.1\n"),
    ("Akamai", b"1 1001 4096\n1 1002 77\n2 1001 4096\n"),
    ("LCS", b"\xf0\xde\xbc\x9a\x78\x56\x34\x12and more"),
    (
        "nfsdump",
        b"1034920000.000001 30.0801 31.03f2 U C3 d8ef15c7 6 lookup fh 6189 name mbox con = 130 len = 112\n\
          1034920000.000002 31.03f2 30.0801 U R3 d8ef15c7 6 lookup OK ftype 1 mode 180 nlink 1 con = 130 len = 112\n",
    ),
    ("DataSeries", b"DSv1\x00\x00\x00\x00"),
    ("strace", b"1700.1 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3\n1700.2 read(3, \"root\", 4096) = 4\n"),
    ("ioshark", b"\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\x22\x22"),
    ("biosnoop.bt", b"TIME(ms)     COMM             PID      LAT(ms)\n611          bash             7        10\n"),
    ("iolog 1", b"0, 4096, 4096\n1, 8192, 4096\n"),
    ("fio log", b"1, 2000, 0, 4096, 0\n2, 1000, 1, 4096, 0\n"),
    ("FIU", b"1 2 READ f 4\n3 4 WRITE f 4\n"),
    ("zip", b"PK\x03\x04\x14\0\0\0\x08\0"),
    ("bpftrace", b"Attaching 4 probes...\nTIME(ms)     DISK  COMM             PID      LAT(us)\n"),
    ("iostat", b"Linux 6.1 (h)\n\nDevice            r/s     rkB/s   w/s   wkB/s\nsda 1 2 3 4\n"),
    ("blkiomon", b"\ntime: Fri Oct  3\ndevice: 8,0\nsizes read (bytes): num 1, min 4096\n"),
    ("load", b"timestamp,disk,read_iops,write_iops,read_bw,write_bw\n0,1,2,3,4,5\n"),
];

#[test]
fn what_is_no_trace_is_recognized_and_refused_with_a_way_out() {
    assert_eq!(SAMPLES.len(), NOT_TRACES.len());
    for ((name, sample), not) in SAMPLES.iter().zip(NOT_TRACES) {
        let error = why(read_bytes(sample, &OpenOptions::default()));
        assert!(error.contains(not.why) && error.contains(not.instead), "{name}: {error}");
    }
}

#[test]
fn what_comes_with_traces_in_an_archive_is_left_out_and_named() {
    let whole = read_bytes(&plain(), &OpenOptions::default()).unwrap().ios;
    let other = |name: &'static str| (name, b"MD5 sums and licences".to_vec());
    let members = [
        other("a/README.txt"),
        other("a/MSR-Cambridge-README.txt"),
        other("a/._trace.csv"),
        ("a/trace.csv", plain()),
        other("a/md5.txt"),
        other("a/other.csv.md5"),
        other("LICENSE"),
        other(".DS_Store"),
    ];
    let read = read_bytes(&tar(&members), &OpenOptions::default()).unwrap();
    assert_eq!(read.ios.len(), whole.len());
    let warnings = read.trace.warnings().join(" ");
    assert!(
        members.iter().all(|(name, _)| warnings.contains(name) != (*name == "a/trace.csv")),
        "{warnings}"
    );
    let none = why(read_bytes(&tar(&members[..2]), &OpenOptions::default()));
    assert!(none.contains("without traces") && none.contains("a/README.txt"), "{none}");
}

#[test]
fn a_trace_without_any_io_is_refused_with_what_became_of_its_records() {
    let averages: String = (1..20).map(|second| format!("{second}000, 90000, 0, 0, 0, 0\n")).collect();
    let error = why(read_bytes(averages.as_bytes(), &OpenOptions::default()));
    assert!(error.contains("19: no bytes long") && error.contains("log_avg_msec"), "{error}");
    let waits = "fio version 2 iolog\n/a add\n/a wait 5 0\n";
    assert!(why(read_bytes(waits.as_bytes(), &OpenOptions::default())).contains("no I/O"));
}

#[test]
fn the_nearest_format_is_named_with_what_is_missing() {
    for (text, format, lack) in [
        ("/a add\n/a open\n/a write 0 512\n", "fio_iolog", "'fio version 2 iolog'"),
        ("1 /a add\n2 /a open\n3 /a write 0 512\n", "fio_iolog", "'fio version 3 iolog'"),
        ("128166372003061629,hm,1,Read,383496192,32768\n", "msr", "too few columns"),
        ("11.2 dd 1 sda W 8 4096 5.6\n11.3 dd 1 sda R 8 4096 5.6\n", "biosnoop", "names its columns"),
        (
            "ELAPSED_USECS.D,CMD.S,LUN_SSID.I,LBA.I,NBLKS.I,LATENCY_USECS.D\n1,XX,1,2,3,4\n",
            "hfplayer",
            "unknown operation",
        ),
    ] {
        let error = why(read_bytes(text.as_bytes(), &OpenOptions::default()));
        assert!(error.contains(&format!("nearest is {format}: ")) && error.contains(lack), "{error}");
    }
}

/// The last bytes of a Parquet file say how long its description is.
#[test]
fn claims_that_can_not_be_true_are_refused_at_once() {
    for claimed in [u32::MAX, 1 << 27, 100] {
        let bytes = [&b"PAR1and no more"[..], &claimed.to_le_bytes(), b"PAR1"].concat();
        let error = why(read_bytes(&bytes, &OpenOptions::default()));
        assert!(error.contains("claims a description") || error.contains("damaged"), "{error}");
    }
}

/// A folder with captures is their trace.
#[test]
fn a_folder_without_captures_is_no_trace() {
    let folder: TempDir = tempdir().unwrap();
    File::create(folder.path().join("other")).unwrap();
    let paths: [PathBuf; 1] = [folder.path().into()];
    let result: Result<Trace, _> = open_trace(&paths, &OpenOptions::default());
    assert!(why(result).contains("folder without capture"));
}

/// A log of fio 3.33 without its name.
fn nameless_log(name: &str, folder: &TempDir) -> Result<usize, String> {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cases/fio-log-bw-as-latency");
    let path = folder.path().join("log");
    fs::copy(logs.join(name), &path).unwrap();
    read_file(&path).map(|read| read.ios.len()).map_err(|error| error.to_string())
}

#[test]
fn a_log_of_rates_is_told_from_one_of_latencies_by_its_values() {
    let folder = tempdir().unwrap();
    for (kind, ios) in [("l", 400), ("fast", 120), ("large", 60)] {
        assert_eq!(nameless_log(&format!("{kind}_lat.1.log"), &folder), Ok(ios));
        let why = nameless_log(&format!("{kind}_bw.1.log"), &folder).expect_err("a log of rates");
        assert!(why.contains("fio's log of bandwidth"), "{why}");
    }
}

/// A log as fio writes it, of I/Os one after the other: latencies, or rates in their place.
fn log_of(latencies_ns: &[u64], bytes: u64, is_of_rates: bool, since_ms: u64) -> String {
    let mut at_ns = 1_000_000 * since_ms;
    let line = |latency_ns: &u64| {
        at_ns += latency_ns;
        let value = if is_of_rates { bytes * 1_000_000 / latency_ns } else { *latency_ns };
        format!("{}, {value}, 0, {bytes}, 4096, 0\n", at_ns / 1_000_000)
    };
    latencies_ns.iter().map(line).collect()
}

#[test]
fn no_log_of_rates_is_taken_for_latencies_nor_the_reverse() {
    let folder = tempdir().unwrap();
    let opened = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        read_file(&path).map(|read| read.ios.len()).map_err(|error| error.to_string())
    };
    let mut state = 1_u64;
    let mut asked = 0;
    for typical_ns in [2_000, 12_000, 64_000, 300_000, 4_000_000, 30_000_000] {
        for bytes in [512, 4096, 131_072, 4_194_304] {
            for since_ms in [0, 60_000] {
                let latencies_ns: Vec<u64> = (0..300)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        typical_ns / 2 + (state >> 33) % typical_ns
                    })
                    .collect();
                let of = |is_of_rates| log_of(&latencies_ns, bytes, is_of_rates, since_ms);
                let case = format!("{typical_ns} ns, {bytes} B, from {since_ms} ms");
                assert!(opened("log", &of(true)).is_err(), "{case}");
                assert_eq!(opened("job_lat.1.log", &of(false)), Ok(300), "{case}");
                assert_eq!(opened("job_clat.1.log.1", &of(false)), Ok(300), "{case}");
                match opened("log", &of(false)) {
                    Ok(ios) => assert_eq!(ios, 300, "{case}"),
                    Err(why) => {
                        assert!(why.contains("give it a name that ends in _lat.1.log"), "{case}: {why}");
                        asked += 1;
                    }
                }
            }
        }
    }
    assert!(asked <= 48 / 3, "{asked} of 48 logs of latencies need a name");
}
