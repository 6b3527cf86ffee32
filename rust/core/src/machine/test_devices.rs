//! What tests borrow from the machine: loop devices, and drives that the environment names.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

pub(super) fn skipped(reason: &str) {
    println!("skipped: {reason}");
}

/// A drive whose data may be lost.
pub(super) fn drive(variable: &str) -> Option<String> {
    let path = std::env::var(variable).ok();
    if path.is_none() {
        skipped(&format!("{variable} names no device to be overwritten"));
    }
    path
}

pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gone with its owner.
pub(super) struct LoopDevice(String);

impl LoopDevice {
    /// A loop device onto a file.
    pub(super) fn on(file: &Path) -> Result<Self, String> {
        let made = Command::new("losetup").args(["--show", "--find"]).arg(file).output();
        let made = made.map_err(|error| format!("losetup: {error}"))?;
        if !made.status.success() {
            return Err(format!("no loop device: {}", String::from_utf8_lossy(&made.stderr).trim()));
        }
        Ok(Self(String::from_utf8_lossy(&made.stdout).trim().to_owned()))
    }

    pub(super) fn open(&self) -> File {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(&self.0).unwrap()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A disk in compressed memory: it has no `NOWAIT`. Gone with its owner.
pub(super) struct ZramDevice(String);

impl ZramDevice {
    pub(super) fn new(bytes: u64) -> Result<Self, String> {
        let number = std::fs::read_to_string("/sys/class/zram-control/hot_add")
            .map_err(|error| format!("no zram device: {error}"))?;
        let device = Self(number.trim().to_owned());
        std::fs::write(format!("/sys/block/zram{}/disksize", device.0), bytes.to_string())
            .map_err(|error| format!("no zram device: {error}"))?;
        Ok(device)
    }

    pub(super) fn open(&self) -> File {
        let path = format!("/dev/zram{}", self.0);
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path).unwrap()
    }
}

impl Drop for ZramDevice {
    fn drop(&mut self) {
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.0);
    }
}
