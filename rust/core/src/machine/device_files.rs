//! What sysfs tells of a device. Its root is passed in, so that devices which are not here can be read too.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{Dev, major, minor};

/// sysfs counts a device's size in these, whatever its logical block is.
const SIZE_UNIT_BYTES: u64 = 512;

/// The folders of one block device.
#[derive(Clone, Debug)]
pub(super) struct DeviceFiles {
    /// Of the device itself, which may be a partition.
    device: PathBuf,
    /// Of the disk, which has the queue.
    disk: PathBuf,
}

impl DeviceFiles {
    /// A block device's, by its number.
    pub(super) fn of_block(sysfs: &Path, number: Dev) -> Option<Self> {
        let link = sysfs.join("dev/block").join(format!("{}:{}", major(number), minor(number)));
        let device = fs::canonicalize(link).ok()?;
        let disk = match device.join("partition").exists() {
            true => device.parent()?.to_path_buf(),
            false => device.clone(),
        };
        Some(Self { device, disk })
    }

    /// Those of the block device which is the same namespace as an NVMe generic device: `nvme0n1` for
    /// `ng0n1`. `None` for any other character device.
    pub(super) fn of_nvme_generic(sysfs: &Path, number: Dev) -> Option<Self> {
        let link = sysfs.join("dev/char").join(format!("{}:{}", major(number), minor(number)));
        let generic = fs::canonicalize(link).ok()?;
        let class = fs::canonicalize(generic.join("subsystem")).ok()?;
        if class.file_name()? != "nvme-generic" {
            return None;
        }
        let numbers = generic.file_name()?.to_str()?.strip_prefix("ng")?;
        let device = sysfs.join("block").join(format!("nvme{numbers}"));
        Some(Self { disk: device.clone(), device })
    }

    pub(super) fn capacity_bytes(&self) -> Option<u64> {
        read_number::<u64>(&self.device.join("size"))?.checked_mul(SIZE_UNIT_BYTES)
    }

    pub(super) fn queue_attribute(&self, name: &str) -> Option<u64> {
        read_number(&self.disk.join("queue").join(name))
    }

    /// A file of the disk, for reading.
    pub(super) fn open(&self, name: &str) -> io::Result<File> {
        File::open(self.disk.join(name))
    }
}

fn read_number<T: FromStr>(path: &Path) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

// System calls that Miri does not know.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use rustix::fs::makedev;
    use std::os::unix::fs::symlink;

    /// A disk with one partition, and a namespace with its generic device, laid out as Linux does.
    fn sysfs() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let link = |from: &str, to: &str| {
            let from = root.path().join(from);
            fs::create_dir_all(from.parent().unwrap()).unwrap();
            symlink(root.path().join(to), from).unwrap();
        };
        write("devices/sda/size", "2048\n");
        write("devices/sda/queue/io_poll", "0\n");
        write("devices/sda/sda1/size", "1024\n");
        write("devices/sda/sda1/partition", "1\n");
        write("devices/nvme0/nvme0n1/size", "4096\n");
        write("devices/nvme0/nvme0n1/queue/max_hw_sectors_kb", "512\n");
        write("class/nvme-generic/readme", "");
        write("devices/nvme0/ng0n1/dev", "244:0\n");
        write("devices/mem/zero/dev", "1:5\n");
        link("devices/nvme0/ng0n1/subsystem", "class/nvme-generic");
        link("devices/mem/zero/subsystem", "devices/mem");
        link("dev/block/8:0", "devices/sda");
        link("dev/block/8:1", "devices/sda/sda1");
        link("dev/char/244:0", "devices/nvme0/ng0n1");
        link("dev/char/1:5", "devices/mem/zero");
        link("block/nvme0n1", "devices/nvme0/nvme0n1");
        root
    }

    #[test]
    fn a_partition_has_its_own_size_and_its_disks_queue() {
        let root = sysfs();
        let disk = DeviceFiles::of_block(root.path(), makedev(8, 0)).unwrap();
        let partition = DeviceFiles::of_block(root.path(), makedev(8, 1)).unwrap();
        assert_eq!((disk.capacity_bytes(), partition.capacity_bytes()), (Some(1 << 20), Some(1 << 19)));
        for device in [disk, partition] {
            assert_eq!(device.queue_attribute("io_poll"), Some(0));
            assert_eq!(device.queue_attribute("max_hw_sectors_kb"), None);
        }
    }

    #[test]
    fn a_generic_device_is_read_as_its_namespace() {
        let root = sysfs();
        let generic = DeviceFiles::of_nvme_generic(root.path(), makedev(244, 0)).unwrap();
        assert_eq!(generic.capacity_bytes(), Some(2 << 20));
        assert_eq!(generic.queue_attribute("max_hw_sectors_kb"), Some(512));
    }

    #[test]
    fn what_is_no_such_device_has_no_files() {
        let root = sysfs();
        assert!(DeviceFiles::of_nvme_generic(root.path(), makedev(1, 5)).is_none());
        assert!(DeviceFiles::of_nvme_generic(root.path(), makedev(1, 6)).is_none());
        assert!(DeviceFiles::of_block(root.path(), makedev(9, 0)).is_none());
    }
}
