//! What is written.

use super::super::stimulus::Data;
use super::{Limits, check_share};

/// Verified data need no rule of their own: their header lies in a sector, and every block size is a
/// multiple of it.
pub(super) fn check(data: &Data, limits: &Limits) -> Result<(), String> {
    match data {
        Data::Random | Data::RandomOnce | Data::Zero | Data::Verified { .. } => Ok(()),
        Data::Pattern(bytes) if bytes.is_empty() => Err("pattern: 0 bytes are not repeated".into()),
        Data::Pattern(_) => Ok(()),
        Data::Reducible { entropy_pct, duplicate_pct, granule_bytes } => {
            check_share("reducible.entropy_pct", *entropy_pct)?;
            check_share("reducible.duplicate_pct", *duplicate_pct)?;
            check_granule(*granule_bytes, limits)
        }
    }
}

/// No device reduces data in parts of sectors, and no write holds a granule larger than a buffer.
fn check_granule(granule: u32, limits: &Limits) -> Result<(), String> {
    let (sector, buffer) = (limits.sector_bytes, limits.block_size_bytes);
    if granule == 0 || !granule.is_multiple_of(sector) {
        return Err(format!(
            "reducible.granule_bytes {granule} is not a multiple of the sector size {sector} B"
        ));
    }
    if granule > buffer {
        return Err(format!("reducible.granule_bytes {granule} exceeds the buffers of {buffer} B"));
    }
    Ok(())
}
