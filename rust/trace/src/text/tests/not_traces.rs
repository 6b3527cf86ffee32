//! One sample of each text that is recognized and can't be replayed.

use crate::{OpenOptions, open_trace};

const SAMPLES: &[(&str, &str)] = &[
    (
        "biosnoop.bt: it has no sector, no size and no direction",
        "Attaching 4 probes...\nTIME(ms)     DISK    COMM             PID    LAT(ms)\n\
         611          nvme0n1 bash             4179         10\n",
    ),
    ("a fio iolog of version 1: it has no times", "0, 0, 4096\n1, 4096, 4096\n0, 8192, 512\n"),
    ("a fio log without offsets: ", "1, 393152, 0, 4096, 0\n1, 280309, 1, 4096, 0x0000\n"),
    (
        "a trace of file operations (FIU): ",
        "1 1410868800000000000 READ 123 4096 0 4096 HIT\n2 1410868800000000100 OPEN 124 4096\n",
    ),
];

#[test]
fn texts_without_blocks_are_refused_with_the_reason() {
    for (what, text) in SAMPLES {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let refusal =
            open_trace(&[file.path().to_owned()], &OpenOptions::default()).err().unwrap().to_string();
        assert!(refusal.contains(what), "{refusal}");
    }
}
