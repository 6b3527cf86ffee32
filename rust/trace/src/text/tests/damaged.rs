//! A vector for each class of damage, and what is skipped or noted instead.

use super::{ReadOptions, in_words, read, read_all, refusal, source};
use crate::formats::{Segments, UnknownDirection};
use crate::reader::Level;
use crate::tally::Place;

/// The class of the only damage, by a text of which only the given line is damaged.
fn class_of(name: &str, text: impl AsRef<[u8]>, line: u64) -> &'static str {
    let tally = read(name, text).tally;
    assert_eq!(tally.damaged_total(), 1, "{tally:?}");
    assert_eq!(tally.first_damages[0].place, Place::Line(line));
    tally.first_damages[0].class
}

#[test]
fn damages_of_columns_are_classed() {
    const SOUND: &str = "419,W,8792731648,16384,1577808144360767\n";
    let class = |damaged: &[u8]| {
        class_of("alibaba", [SOUND.as_bytes(), damaged, b"\n", SOUND.as_bytes()].concat(), 2)
    };
    assert_eq!(class(b"419,W,8792731648,16384"), "too few columns");
    assert_eq!(class(b"419,W,8792731648,16384,1577808144360767,1"), "too many columns");
    assert_eq!(class(b"419,X,8792731648,16384,1577808144360767"), "unknown operation");
    assert_eq!(class(b"419,W,eight,16384,1577808144360767"), "not a number");
    assert_eq!(class(b"419,W,,16384,1577808144360767"), "empty field");
    assert_eq!(class(b"419,W,-512,16384,1577808144360767"), "negative number");
    assert_eq!(class(b"419,W,512,16384,-1577808144360767"), "negative number");
    assert_eq!(class(b"419,W,99999999999999999999,16384,1577808144360767"), "number too large");
    assert_eq!(class(b"419,W,512,16384,15778081443607670000"), "number too large");
    assert_eq!(class(b"419,W,512,16384,1577808144.36.0767"), "not a number");
    assert_eq!(class(b"419,W,8792\x0031648,16384,1577808144360767"), "NUL bytes");
    assert_eq!(class(b"419,W,8792\xff31648,16384,1577808144360767"), "not UTF-8");
    let cut = [SOUND, &SOUND[..20]].concat();
    assert_eq!(class_of("alibaba", cut, 2), "cut off at the end of the file");
    let long = [SOUND, &"1".repeat(70_000), "\n", SOUND].concat();
    assert_eq!(class_of("alibaba", long, 2), "line of more than 65,536 bytes");
    let early = "100000,hm,0,Read,1024,2048,10\n";
    assert_eq!(class_of("msr", early, 1), "time out of range");
    let late = "TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n25:00:00.000 dd 1 sda R 0 512 0.1\n";
    assert_eq!(class_of("biosnoop_timestamp", late, 2), "not a time of day");
}

#[test]
fn blank_lines_comments_and_repeated_headers_are_skipped() {
    let text = "device_id,opcode,offset,length,timestamp\n\n419,W,0,512,1\n   \n\
                Device_ID,opcode,offset,length,timestamp\n419,R,0,512,2\n";
    let tally = read("alibaba", text).tally;
    assert_eq!((tally.read, tally.accepted, tally.damaged_total()), (6, 2, 0));
    assert_eq!(tally.skipped.into_iter().collect::<Vec<_>>(), [("blank line", 2), ("header line", 2)]);
}

#[test]
fn requests_without_a_disk_are_skipped_also_beside_commands_of_several_words() {
    const HEADER: &str = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n";
    let sound = "11.2 kworker/u16:4  16 vda W 100875369  4096 5.68\n11.3 my tool  17 sda R 8 4096 5.68\n";
    let blank =
        "0.0 ?       0         R 0 8 2.00\n1.5 a 5   17        R 0 8 2.00\n1.5 sh    17        W 0 0 2.00\n";
    let outcome = read("biosnoop", [HEADER, sound, blank, sound].concat());
    assert_eq!(outcome.ios.len(), 4);
    assert_eq!((outcome.tally.skipped["request without a disk"], outcome.tally.damaged_total()), (3, 0));
    let queued = HEADER.replace("LAT(ms)", "QUE(ms) LAT(ms)");
    let outcome =
        read("biosnoop", [&queued, "11.2 dd 1 sda W 8 4096 0.1 5.6\n11.3 dd 1   R 0 8 0.1 5.6\n"].concat());
    assert_eq!((outcome.ios.len(), outcome.tally.skipped["request without a disk"]), (1, 1));
}

/// As hfplayer's dumps have them: the time, the command, the number of the I/O and its latency.
fn hfplayer(rows: &[(&str, &str, u64, &str)]) -> String {
    let lines = rows
        .iter()
        .map(|(us, command, number, latency)| format!("{us},{command},{number},5,0,8,{latency}\n"));
    let header = "ELAPSED_USECS.D,CMD.S,SEQID.I,LUN_SSID.I,LBA.I,NBLKS.I,LATENCY_USECS.D\n".to_owned();
    std::iter::once(header).chain(lines).collect()
}

#[test]
fn a_completion_of_its_own_belongs_to_the_io_of_its_number() {
    let outcome = read(
        "hfplayer",
        hfplayer(&[
            ("10", "RD_IN", 1, "0.000"),
            ("20", "WR_IN", 2, "7.5"),
            ("30", "WR_IN", 3, "0"),
            ("40", "RD_OUT", 1, "30.000"),
            ("45", "WR_OUT", 2, "7.5"),
            ("50", "RD_IN", 4, "0"),
        ]),
    );
    let mut ios: Vec<_> = outcome.ios.iter().map(|io| (io.issued_ns, io.completed_ns)).collect();
    ios.sort_unstable();
    assert_eq!(ios, [(10_000, Some(40_000)), (20_000, Some(27_500)), (30_000, None), (50_000, None)]);
    let left_out = "completion of an I/O that has its latency, or no other record";
    assert_eq!(outcome.tally.skipped[left_out], 1);
}

#[test]
fn ios_that_have_no_completion_do_not_wait_for_it_forever() {
    let rows: Vec<_> = (0..5000_u64).map(|index| (format!("{}", index * 1000), index)).collect();
    let rows: Vec<_> = rows.iter().map(|(us, index)| (us.as_str(), "RD_IN", *index, "0")).collect();
    let outcome = read("hfplayer", hfplayer(&rows));
    assert!(outcome.ios.is_sorted_by_key(|io| io.issued_ns));
    assert_eq!(outcome.ios.len(), 5000);
}

#[test]
fn the_policy_decides_on_an_unknown_direction() {
    let text = "1456095145.133076000,,,0,0,512\n1456095145.2,0.100000,R,0,512,512\n";
    let with = |unknown_direction| {
        let options = ReadOptions { unknown_direction, ..ReadOptions::default() };
        let outcome = read_all("systor17", vec![source(text)], &options).unwrap();
        (outcome.ios.iter().map(|io| in_words(io, &outcome.facts)).collect::<Vec<_>>(), outcome.tally)
    };
    const KNOWN: &str = "1456095145200000000 1456095145300000000 read 512 512 0";
    let (words, tally) = with(UnknownDirection::Skip);
    assert_eq!(words, [KNOWN]);
    assert_eq!(tally.skipped["unknown direction"], 1);
    const UNKNOWN: &str = "0 512 0 no_completion quality=operation_inferred";
    let (words, _) = with(UnknownDirection::Read);
    assert_eq!(words, [&format!("1456095145133076000 - read {UNKNOWN}"), KNOWN]);
    let (words, _) = with(UnknownDirection::Write);
    assert_eq!(words, [&format!("1456095145133076000 - write {UNKNOWN}"), KNOWN]);
}

#[test]
fn codes_of_one_direction_are_questioned() {
    let line = |index: u64| format!("1538323200,{index},8,1,0\n");
    let text: String = (0..10).map(line).collect();
    let tally = read("tencent", text).tally;
    assert_eq!(tally.notes.len(), 1);
    assert!(tally.notes.keys().all(|note| note.starts_with("only writes seen")));
}

#[test]
fn a_column_map_of_ones_own_is_used() {
    let text = "# made up\nop|where|n|when\n\"R|D\"|0x10|3|1.5\n WR |1F|0004|2\n";
    let map = r##"
        columns = ["op", "where", "n", "when"]
        separator = "|"
        comment = "#"
        quote = '"'
        time = { column = "when", unit = "s" }
        operation = { column = "op", read = ["R|D"], write = ["WR"] }
        offset = { column = "where", unit_bytes = 4096, base = "hexadecimal" }
        length = { column = "n", unit_bytes = 512 }
    "##;
    let options = ReadOptions { column_map: Some(map.into()), ..ReadOptions::default() };
    let outcome = read_all("columns", vec![source(text)], &options).unwrap();
    let words: Vec<_> = outcome.ios.iter().map(|io| in_words(io, &outcome.facts)).collect();
    assert_eq!(words, ["1500000000 - read 65536 1536 device", "2000000000 - write 126976 2048 device"]);
    assert_eq!(outcome.facts.resolution_ns, 100_000_000);
}

#[test]
fn a_column_map_that_says_too_little_is_refused() {
    let refused = |map: &str| {
        let options = ReadOptions { column_map: Some(map.into()), ..ReadOptions::default() };
        read_all("columns", vec![source("")], &options).err().unwrap().to_string()
    };
    const REST: &str =
        "offset = { column = \"b\", unit_bytes = 1 }\nlength = { column = \"b\", unit_bytes = 1 }\n";
    let with = |operation: &str, time: &str| {
        refused(&format!("columns = [\"a\", \"b\"]\noperation = {operation}\ntime = {time}\n{REST}"))
    };
    const READS_AND_WRITES: &str = "{ column = \"a\", read = [\"0\"], write = [\"1\"] }";
    const TIME: &str = "{ column = \"b\", unit = \"s\" }";
    let refusals = [
        refusal("columns", ""),
        with("{ column = \"a\", read = [\"0\"] }", TIME),
        with("{ column = \"a\", read = [\"0\"], write = [\"0\"] }", TIME),
        with("{ column = \"c\", read = [\"0\"], write = [\"1\"] }", TIME),
        with(READS_AND_WRITES, "{ column = \"b\", unit = \"s\", moment = \"completion\" }"),
    ];
    assert_eq!(
        refusals.join("\n"),
        "format 'columns' needs a column map that says what the columns are: give one as a TOML file\n\
         cannot use the column map: [operation] must name what reads and what writes are called\n\
         cannot use the column map: [operation] gives '0' two meanings\n\
         cannot use the column map: no column 'c': the columns are a, b\n\
         cannot use the column map: times are those of completions: a latency column is needed to find the issue"
    );
    assert!(with(READS_AND_WRITES, "{ column = \"b\", unit = \"h\" }").contains("unknown variant `h`"));
}

#[test]
fn a_time_of_day_goes_on_after_midnight() {
    let text = "TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                23:59:59.999 dd 1 sda R 0 512 1.000\n00:00:00.001 dd 1 sda R 0 512 1.000\n";
    let ios = read("biosnoop_timestamp", text).ios;
    assert_eq!(ios[1].issued_ns - ios[0].issued_ns, 2_000_000);
}

#[test]
fn a_required_header_is_asked_for() {
    assert_eq!(
        refusal("hfplayer", "4124,50,822590674,RD\n"),
        "cannot read line 1 as 'hfplayer': it must name the columns ELAPSED_USECS.D, CMD.S, LUN_SSID.I, LBA.I, \
         NBLKS.I, LATENCY_USECS.D"
    );
}

#[test]
fn damages_of_an_iolog_are_classed() {
    let class = |damaged: &str| {
        let text = format!("fio version 3 iolog\n1 /a add\n{damaged}\n2 /a read 0 512\n");
        class_of("fio_iolog", text, 3)
    };
    assert_eq!(class("1 /b read 0 512"), "I/O on a file that was never added or opened");
    assert_eq!(class("1 /a erase 0 512"), "unknown action");
    assert_eq!(class("1 /a read 0"), "unknown action");
    assert_eq!(class("x /a read 0 512"), "not a number");
    assert_eq!(class("1 /a read -512 512"), "negative number");
    assert_eq!(class("1 /a wait 5 0"), "wait in an iolog of version 3");
    assert_eq!(class("1 add"), "no file name");
}

#[test]
fn an_iolog_of_other_versions_or_none_is_refused() {
    assert_eq!(
        refusal("fio_iolog", "fio version 4 iolog\n"),
        "cannot read an iolog of version 4: fio writes version 3 today, record it again"
    );
    assert_eq!(
        refusal("fio_iolog", "0, 0, 512\n"),
        "cannot read line 1 as an iolog of fio: the first line must be 'fio version 3 iolog'"
    );
}

#[test]
fn two_runs_in_an_iolog_are_refused_or_put_together_as_asked() {
    const RUN: &str = "fio version 3 iolog\n0 /a add\n10 /a read 0 512\n25 /a write 512 512\n30 /a close\n";
    let text = [RUN, RUN].concat();
    let times = |segments, texts: &[&str]| {
        let options = ReadOptions { segments, ..ReadOptions::default() };
        let outcome = read_all("fio_iolog", texts.iter().map(source).collect(), &options);
        outcome.map(|outcome| outcome.ios.iter().map(|io| io.issued_ns).collect::<Vec<_>>())
    };
    assert_eq!(
        times(Segments::Refuse, &[&text]).err().unwrap().to_string(),
        "cannot read the iolog as one run: its clock begins again at line 6 of file 1; say whether the runs follow \
         each other (concatenate) or begin together (merge)"
    );
    assert!(times(Segments::Refuse, &[RUN, RUN]).is_err());
    for texts in [&[text.as_str()][..], &[RUN, RUN]] {
        assert_eq!(times(Segments::Concatenate, texts).unwrap(), [10_000, 25_000, 35_000, 50_000]);
        assert_eq!(times(Segments::Merge, texts).unwrap(), [10_000, 25_000, 10_000, 25_000]);
    }
}

#[test]
fn waits_of_version_2_are_read_as_fio_does_or_as_its_manual_says() {
    let text = "fio version 2 iolog\n/a b add\n/a b open\n/a b read 0 512\n/a b wait 300 0\n/a b write 512 512\n\
                /a b wait 200 0\n/a b sync 0 0\n/a b wait 99 0\n/a b trim 0 4294967296\n/a b close\n";
    let times = |iolog2_wait_as_manual| {
        let options = ReadOptions { iolog2_wait_as_manual, ..ReadOptions::default() };
        let outcome = read_all("fio_iolog", vec![source(text)], &options).unwrap();
        assert_eq!(outcome.ios[3].length_bytes, 1 << 32);
        (outcome.facts.resolution_ns, outcome.ios.iter().map(|io| io.issued_ns).collect::<Vec<_>>())
    };
    assert_eq!(times(false), (1_000_000, vec![0, 300_000_000, 300_000_000, 300_000_000]));
    assert_eq!(times(true), (1_000, vec![0, 300_000, 500_000, 500_000]));
    let untimed = read("fio_iolog", "fio version 2 iolog\n/a add\n/a read 0 512\n").facts;
    assert_eq!((untimed.resolution_ns, untimed.has_issue_times), (0, false));
}

#[test]
fn damages_of_blkparse_are_classed() {
    let class = |damaged: &str| {
        let sound = "8,0 1 1 0.5 1 D R 0 + 8 [a]\n";
        class_of("blkparse", format!("{sound}{damaged}\n{sound}"), 2)
    };
    assert_eq!(class("8,0 1 1 0.5 1 D V 0 + 8 [a]"), "unknown operation");
    assert_eq!(class("8,0 1 1 0.5 1 Y R 0 + 8 [a]"), "unknown action");
    assert_eq!(class("8,0 1 1 10:15:16 1 D R 0 + 8 [a]"), "not a time in seconds");
    assert_eq!(class("8 1 1 0.5 1 D R 0 + 8 [a]"), "not a device (major,minor)");
    assert_eq!(class("8,0 x 1 0.5 1 D R 0 + 8 [a]"), "not a number");
    assert_eq!(class("8,0 70000 1 0.5 1 D R 0 + 8 [a]"), "processor number too large");
    assert_eq!(class("8,0 1 1 0.5 4294967296 D R 0 + 8 [a]"), "process number too large");
    assert_eq!(class("8,0 1 1 0.5 1 D R 0 + 0 [a]"), "zero length");
    assert_eq!(class("8,0 1 1 0.5 1 D R 0 + [a]"), "no length");
    assert_eq!(class("8,0 1 1 0.5 1 D R here [a]"), "not an event's place");
    assert_eq!(class("8,0 1 1 0.5 1 D R 18014398509481983 + 8 [a]"), "end beyond 2^63 bytes");
    assert_eq!(class("8,0 1 1 0.5 1 C R 0 + 8"), "no result of the I/O");
    assert_eq!(class("8,0 1 1 0.5 1 C R 0 + 8 [good]"), "not an errno");
    assert_eq!(class("8,0 1 1 0.5 1 X R 0 + 8 [a]"), "no place of the second part");
    assert_eq!(class("8,0 1 1 0.5 1 A R 0 + 8"), "no device above");
    assert_eq!(class("8,0 1 1 0.5 1 A R 0 + 8 <- (8,1)"), "no place above");
    assert_eq!(class("8,0 1"), "empty field");
}

#[test]
fn damages_of_tracepoints_are_classed() {
    let class = |damaged: &str| {
        let sound = " a-1 [000] ..... 1.5: block_rq_issue: 8,0 R 4096 () 0 + 8 [a]\n";
        class_of("tracepoints", format!("{sound}{damaged}\n{sound}"), 2)
    };
    assert_eq!(
        class(" a-1 [000] ..... 15: block_rq_issue: 8,0 R 4096 () 0 + 8 [a]"),
        "not a time in seconds"
    );
    assert_eq!(class(" a [000] ..... 1.5: block_rq_issue: 8,0 R 4096 () 0 + 8 [a]"), "no process number");
    assert_eq!(class(" a-1 [000] ..... 1.5: block_rq_issue: 8,0 Y 4096 () 0 + 8 [a]"), "unknown operation");
    assert_eq!(
        class(" a-1 [000] ..... 1.5: block_rq_issue: sda R 4096 () 0 + 8 [a]"),
        "not a device (major,minor)"
    );
    assert_eq!(class("something else"), "no event");
}

#[test]
fn damages_of_xperf_are_classed() {
    let class = |damaged: &str| {
        let header = "BeginHeader\nDiskRead, TimeStamp, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum\n\
                      DiskWrite, TimeStamp, IrpPtr\nEndHeader\n";
        class_of("xperf", format!("{header}{damaged}\nDiskRead, 9, 0x1, 0x0, 0x200, 1, 0\n"), 5)
    };
    assert_eq!(class("DiskRead, 9, 0x1, 0x0"), "too few columns");
    assert_eq!(class("DiskRead, 9, 0x1, 0xg, 0x200, 1, 0"), "not a number");
    assert_eq!(class("DiskRead, 9, 0x1, 0x10000000000000000, 0x200, 1, 0"), "number too large");
    assert_eq!(class("DiskWrite, 9, 0x1, 0x0, 0x200, 1, 0"), "column that the header does not name");
    assert_eq!(
        refusal("xperf", "DiskRead, 9, 0x1, 0x0, 0x200, 1, 0\n"),
        "cannot read line 1 as text of xperf: it must be 'BeginHeader', for the columns are named there"
    );
}

#[test]
fn what_is_lost_is_counted() {
    use super::samples::SAMPLES;
    let lost = |name: &str| {
        let (_, text, _) = SAMPLES.iter().find(|sample| sample.0 == name).unwrap();
        read(super::samples::format_of(name), text).tally.lost
    };
    assert_eq!(["blkparse", "tracepoints", "tracepoints.trace_cmd"].map(lost), [5123, 5, 17]);
}

#[test]
fn the_level_of_events_is_chosen() {
    let text = "8,0 1 1 0.1 1 Q R 0 + 8 [a]\n8,0 1 2 0.2 1 D R 0 + 8 [a]\n8,0 1 3 0.3 1 C R 0 + 8 [0]\n";
    let issued = |from| {
        let options = ReadOptions { from, ..ReadOptions::default() };
        let outcome = read_all("blkparse", vec![source(text)], &options).unwrap();
        (outcome.facts.level, outcome.ios.iter().map(|io| io.issued_ns).collect::<Vec<_>>())
    };
    assert_eq!(issued(None), (Level::Issue, vec![200_000_000]));
    assert_eq!(issued(Some(Level::Issue)), (Level::Issue, vec![200_000_000]));
    assert_eq!(issued(Some(Level::Queue)), (Level::Queue, vec![100_000_000]));
}

#[test]
fn completions_in_another_order_than_issues_are_kept_apart() {
    // Completed at 1 s after 900 ms, and at 1.1 s after 50 ms.
    let text = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                1.000000 a 1 sda R 0 512 900.000\n1.100000 b 2 sda R 8 512 50.000\n0.950000 c 3 sda R 16 512 900.000\n";
    let times: Vec<_> = read("biosnoop", text).ios.iter().map(|io| (io.issued_ns, io.completed_ns)).collect();
    let ms = 1_000_000;
    assert_eq!(times, [(100 * ms, Some(1000 * ms)), (1050 * ms, Some(1100 * ms)), (50 * ms, Some(950 * ms))]);
}

#[test]
fn reversed_lines_are_the_same_ios_in_another_order() {
    let text = include_str!("samples/alibaba.txt");
    let reversed: String = text.lines().rev().map(|line| format!("{line}\n")).collect();
    let times = |text: &str| read("alibaba", text).ios.iter().map(|io| io.issued_ns).collect::<Vec<_>>();
    let mut again = times(&reversed);
    again.reverse();
    assert_eq!(again, times(text));
}
