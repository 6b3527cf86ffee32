//! What the kernel allows one process to have, asked before anything is begun: a demand beyond it is refused
//! with its figures, and does not fail in the middle or take the memory of everyone else.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::buffers::mapped_bytes;
use super::path::IoPath;

/// `IORING_MAX_ENTRIES`, of which the waker takes one.
const RING_ENTRIES: u64 = 32_768;
/// Descriptors of one thread: its ring or the target, and the waker.
const DESCRIPTORS: u64 = 2;
/// Mappings of one thread: two for each stack, two of a ring, its entries and the buffers.
const MAPPINGS: u64 = 7;
/// Address space of a thread's stack.
const STACK_BYTES: u64 = 2 << 20;
/// Threads, descriptors and mappings that are left for everything else in the process.
const SPARE: u64 = 64;

/// What a session is going to take.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// The way to the target.
    pub path: IoPath,
    /// Threads that issue I/O.
    pub threads: u64,
    /// I/Os that each of them may have outstanding.
    pub slots: u64,
    /// The largest transfer.
    pub block_bytes: u64,
}

/// More is wanted than the kernel allows, with the figures and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TooMuch(pub String);

impl Needs {
    /// Look whether the kernel allows it all; raise the soft limit of open files, if that is what it takes.
    ///
    /// # Errors
    /// With the first thing that it does not allow.
    pub fn check(&self) -> Result<(), TooMuch> {
        self.check_ring()?;
        self.check_threads()?;
        self.check_mappings()?;
        self.check_memory()?;
        // Last, because it may change something.
        self.allow_descriptors()
    }

    fn check_ring(&self) -> Result<(), TooMuch> {
        let most = RING_ENTRIES - 1;
        if self.path == IoPath::Synchronous || self.slots <= most {
            return Ok(());
        }
        Err(TooMuch(format!(
            "QD {} is more than the {most} I/Os that io_uring takes in one ring: lower the queue depth, or \
             spread it over more threads",
            self.slots
        )))
    }

    fn check_threads(&self) -> Result<(), TooMuch> {
        let wanted = self.threads.saturating_add(SPARE);
        for (left, limit) in [host_threads_left(), group_threads_left()].into_iter().flatten() {
            if wanted > left {
                return Err(TooMuch(format!(
                    "{} take {} threads, and {limit} leaves {left}, of which {SPARE} are kept for the rest: {}",
                    self.demand(),
                    self.threads,
                    self.advice("raise it")
                )));
            }
        }
        Ok(())
    }

    fn check_mappings(&self) -> Result<(), TooMuch> {
        let Some(most) = number_in(Path::new("/proc/sys/vm/max_map_count")) else { return Ok(()) };
        let there = fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count() as u64);
        let wanted = self.threads.saturating_mul(MAPPINGS).saturating_add(SPARE);
        if wanted <= most.saturating_sub(there) {
            return Ok(());
        }
        Err(TooMuch(format!(
            "{} take {wanted} memory mappings, and vm.max_map_count {most} leaves {}: {}",
            self.demand(),
            most.saturating_sub(there),
            self.advice("raise it with sysctl")
        )))
    }

    fn check_memory(&self) -> Result<(), TooMuch> {
        let each = mapped_bytes(self.slots, self.block_bytes, 0);
        let wanted = u128::from(self.threads) * u128::from(each);
        let refused = |what: &str, left: u64, advice: &str| {
            Err(TooMuch(format!(
                "{} with blocks of {} B take {wanted} B of buffers, and {left} B of {what}: {advice}lower TC, QD \
                 or the block size",
                self.demand(),
                self.block_bytes
            )))
        };
        let stacks = u128::from(self.threads) * u128::from(STACK_BYTES);
        if let Some(left) = address_space_left()
            && wanted + stacks > u128::from(left)
        {
            return refused("address space are left (ulimit -v)", left, "raise it, or ");
        }
        match [host_memory(), group_memory()].into_iter().flatten().min() {
            Some(left) if wanted > u128::from(left) => refused("memory are available", left, ""),
            _ => Ok(()),
        }
    }

    fn allow_descriptors(&self) -> Result<(), TooMuch> {
        let there = fs::read_dir("/proc/self/fd").map_or(0, |open| open.count() as u64);
        let wanted = self.threads.saturating_mul(DESCRIPTORS).saturating_add(SPARE).saturating_add(there);
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_none_or(|most| wanted <= most) {
            return Ok(());
        }
        if maximum.is_none_or(|most| wanted <= most) {
            let raised = Rlimit { current: Some(wanted), maximum };
            return setrlimit(Resource::Nofile, raised).map_err(|error| {
                TooMuch(format!("the limit of open files can't be raised to {wanted}: {error}"))
            });
        }
        Err(TooMuch(format!(
            "{} take {wanted} open files, with the {there} that are open and {SPARE} for the rest, and the hard \
             limit (ulimit -Hn) is {}: {}",
            self.demand(),
            maximum.unwrap_or(wanted),
            self.advice("raise it")
        )))
    }

    /// Threads and depth in the operator's words.
    fn demand(&self) -> String {
        if self.path == IoPath::Synchronous {
            format!("TC x QD of {}, with a thread for each outstanding I/O,", self.threads)
        } else {
            format!("TC {} and QD {}", self.threads, self.slots)
        }
    }

    fn advice(&self, raise: &str) -> String {
        if self.path == IoPath::Synchronous {
            format!("{raise}, lower TC or QD, or use --io-path io_uring, which needs TC threads only")
        } else {
            format!("{raise}, or lower TC")
        }
    }
}

/// What the kernel says of a thread that it does not start: the limits that may be the reason.
#[must_use]
pub fn thread_limits() -> String {
    let user = getrlimit(Resource::Nproc).current.map_or("unlimited".into(), |most| most.to_string());
    let space = getrlimit(Resource::As).current.map_or("unlimited".into(), |bytes| format!("{bytes} B"));
    format!("processes and threads of this user (ulimit -u) {user}, address space (ulimit -v) {space}")
}

/// Threads that the host can still start, and what limits them.
fn host_threads_left() -> Option<(u64, &'static str)> {
    let running = running_threads(&fs::read_to_string("/proc/loadavg").ok()?)?;
    let limits = ["kernel.threads-max", "kernel.pid_max"];
    let left = |name: &'static str| {
        let most = number_in(&Path::new("/proc/sys").join(name.replace('.', "/")))?;
        Some((most.saturating_sub(running), name))
    };
    limits.into_iter().filter_map(left).min()
}

/// The fourth word is `runnable/existing`.
fn running_threads(loadavg: &str) -> Option<u64> {
    loadavg.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn group_threads_left() -> Option<(u64, &'static str)> {
    let left = |group: &PathBuf| {
        Some(number_in(&group.join("pids.max"))?.saturating_sub(number_in(&group.join("pids.current"))?))
    };
    Some((groups().iter().filter_map(left).min()?, "the control group's pids.max"))
}

/// What the process may still map.
fn address_space_left() -> Option<u64> {
    let most = getrlimit(Resource::As).current?;
    let pages: u64 =
        fs::read_to_string("/proc/self/statm").ok()?.split_ascii_whitespace().next()?.parse().ok()?;
    Some(most.saturating_sub(pages * rustix::param::page_size() as u64))
}

/// The kernel's estimate of what can be had without swapping.
fn host_memory() -> Option<u64> {
    available_bytes(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What the control groups leave; the page cache gives way.
fn group_memory() -> Option<u64> {
    let left = |group: &PathBuf| {
        let most = number_in(&group.join("memory.max"))?;
        let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cache = statistics.lines().find_map(|line| line.strip_prefix("file ")?.parse().ok()).unwrap_or(0);
        Some(most.saturating_sub(number_in(&group.join("memory.current"))?.saturating_sub(cache)))
    };
    groups().iter().filter_map(left).min()
}

/// The control group of this process and all around it, where they are of version 2.
fn groups() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let root = Path::new("/sys/fs/cgroup");
    root.join(own).ancestors().take_while(|group| group.starts_with(root)).map(Path::to_owned).collect()
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(path: IoPath, threads: u64, slots: u64, block_bytes: u64) -> String {
        Needs { path, threads, slots, block_bytes }
            .check()
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn an_ordinary_demand_is_allowed() {
        assert_eq!(needs(IoPath::Uring, 32, 32, 65_536), "");
        assert_eq!(needs(IoPath::Uring, 1, 32_767, 4096), "");
    }

    #[test]
    fn what_is_beyond_a_limit_is_told_with_its_figures() {
        let ring = needs(IoPath::Uring, 1, 32_768, 512);
        assert!(ring.starts_with("QD 32768 is more than the 32767 I/Os"), "{ring}");
        let threads = needs(IoPath::Synchronous, 1 << 40, 1, 512);
        assert!(threads.contains("1099511627776 threads") && threads.contains("--io-path"), "{threads}");
        let memory = needs(IoPath::Uring, 1024, 32_767, 1 << 30);
        assert!(memory.contains("B of memory are available"), "{memory}");
        let most = u64::from(u32::MAX);
        assert_ne!(needs(IoPath::Synchronous, most * most, 1, most), "");
    }

    #[test]
    fn the_kernel_s_figures_are_read() {
        assert_eq!(running_threads("0.61 0.59 0.72 2/1234 99999\n"), Some(1234));
        assert_eq!(available_bytes("MemTotal: 5 kB\nMemAvailable:      17 kB\n"), Some(17 * 1024));
        for nothing in ["", "MemAvailable: many kB", "1 2 3"] {
            assert_eq!((running_threads(nothing), available_bytes(nothing)), (None, None));
        }
        assert!(host_memory().is_some_and(|bytes| bytes > 0));
        assert!(host_threads_left().is_some());
    }
}
