//! One sample of each text that is recognized and can't be replayed.

use super::{FORMATS, refusal};

const SAMPLES: &[(&str, &str)] = &[
    (
        "bpftrace_biosnoop",
        "Attaching 4 probes...\nTIME(ms)     DISK    COMM             PID    LAT(ms)\n\
         611          nvme0n1 bash             4179         10\n",
    ),
    ("fio_iolog_1", "0, 0, 4096\n1, 4096, 4096\n0, 8192, 512\n"),
    ("fio_log_no_offset", "1, 393152, 0, 4096, 0\n1, 280309, 1, 4096, 0x0000\n"),
    (
        "iostat",
        "Linux 6.8.0 (host) \t11/23/26 \t_x86_64_\t(4 CPU)\n\navg-cpu:  %user   %nice %system\n           1.00    0.00    1.00\n\n\
         Device            r/s     rkB/s   rrqm/s\nsda              0.50      2.00     0.00\n",
    ),
    (
        "blkiomon",
        "time: Tue Sep 30 17:39:25 2008\ndevice: 8,16\nsizes read (bytes): num 17, min 4096, max 4096, sum 69632\n",
    ),
    (
        "strace",
        "1234  openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n1234  pread64(3, \"\", 4096, 0) = 4096\n1234  close(3)        = 0\n",
    ),
    ("fiu_files", "1 1410868800000000000 READ 123 4096 0 4096 HIT\n2 1410868800000000100 OPEN 124 4096\n"),
    (
        "nfsdump",
        "1003680000.000344 30.0801 31.03f2 U C3 5f6f6a4 6 read fh 00 off 0 count 2000 con = 82 len = 50\n\
         1003680000.000544 31.03f2 30.0801 U R3 5f6f6a4 6 read OK ftype 1\n",
    ),
    ("cache_keys", "0,q:q:1:8WTfjZU14ee,17,213,4,get,0\n0,yDqF:3q:1AJrrJ1nnCJKKrnGx1A,27,27,5,set,86400\n"),
    ("cache_keys", "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n10,1668,20,GET,1,82,1,0\n"),
    (
        "cache_keys",
        "relative_unix\thashed_host_path_query\tresponse_size\ttime_firstbyte\n0\t-123\t5\t0.001\n",
    ),
];

#[test]
fn what_has_no_blocks_is_recognized_and_refused_with_a_way_out() {
    for (name, text) in SAMPLES {
        let claiming: Vec<_> = FORMATS
            .iter()
            .copied()
            .flatten()
            .filter(|format| (format.is_at_head)(text.as_bytes()))
            .map(|format| format.name)
            .collect();
        assert_eq!(claiming, [*name]);
        assert!(refusal(name, text).starts_with("cannot read "));
    }
}

#[test]
fn bpftrace_is_refused_by_name() {
    assert_eq!(
        refusal("bpftrace_biosnoop", ""),
        "cannot read output of bpftrace's biosnoop.bt: it has no sector, no size, and no direction; record with \
         biosnoop of bcc or of libbpf-tools, or with 'openpts capture'"
    );
}
