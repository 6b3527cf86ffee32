//! The column maps that come with openpts, one file each.

use std::sync::{Arc, LazyLock};

use super::map::ColumnMap;
use super::{is_at_head, nearness, open, open_own};
use crate::formats::Format;

/// A format whose map is in the file of its name.
macro_rules! shipped {
    ($name:literal, $label:literal) => {{
        static MAP: LazyLock<Arc<ColumnMap>> = LazyLock::new(|| {
            let text = include_str!(concat!("maps/", $name, ".toml"));
            Arc::new(ColumnMap::parse(text).expect("maps that are shipped are sound"))
        });
        Format {
            name: $name,
            label: $label,
            is_at_head: |head| is_at_head(&MAP, head),
            nearness: |head| nearness(&MAP, head),
            open: |sources, options| open($name, Arc::clone(&MAP), sources, options),
        }
    }};
}

/// Those that are read by a column map.
pub(crate) static FORMATS: &[Format] = &[
    shipped!("msr", "MSR Cambridge CSV (Windows file times, bytes)"),
    shipped!("systor17", "SYSTOR '17 CSV of Fujitsu's virtual desktops (s, bytes)"),
    shipped!("fiu", "FIU IODedup text with digests (ns, 512-byte sectors)"),
    shipped!("alibaba", "Alibaba block CSV of 2020 (us, bytes)"),
    shipped!("tencent", "Tencent CBS CSV (whole s, 512-byte sectors)"),
    shipped!("spc", "SPC and UMass CSV (s, 512-byte blocks)"),
    shipped!("midas", "MiDAS text (s, 4 KiB blocks)"),
    shipped!("k5cloud", "K5cloud CSV (s, bytes)"),
    shipped!("uchicago", "UChicago replayer text (ms, bytes)"),
    shipped!("disksim", "DiskSim ASCII text (ms, 512-byte sectors)"),
    shipped!("mqsim", "MQSim text (ns, 512-byte sectors)"),
    shipped!("hfplayer", "hfplayer CSV (us, 512-byte blocks)"),
    shipped!("blkreplay", "blkreplay load (s, 512-byte sectors)"),
    shipped!("diskmon", "Sysinternals DiskMon log (s, 512-byte sectors)"),
    shipped!("biosnoop", "biosnoop of bcc or libbpf-tools (completions, us)"),
    shipped!("biosnoop_timestamp", "biosnoop -t of libbpf-tools (completions, ms of the day)"),
    shipped!("fio_log", "fio latency log with offsets (completions, ms)"),
    shipped!("fio_log_old", "fio latency log with offsets, of fio 3.0 to 3.17 (completions, ms)"),
    shipped!("fio_log_issue", "fio latency log with offsets and issue times (ns)"),
    Format {
        name: "columns",
        label: "any text with one I/O per line, by a column map of your own",
        is_at_head: |_| false,
        nearness: |_| None,
        open: open_own,
    },
];
