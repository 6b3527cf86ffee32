//! Power states: their descriptors, and the two features by which a host commands them.

use openpts_sim::{MOST_POWER_STATES, PowerSetting, PowerState, Transition};

use super::bytes::{Page, u64_at};
use super::command::{Answered, Done, Status};
use super::paced_drive::PacedDrive;

const DESCRIPTORS: usize = 2048;
const DESCRIPTOR_BYTES: usize = 32;
/// Of the table of autonomous transitions.
const TABLE_BYTES: usize = 256;
const NON_OPERATIONAL: u8 = 1 << 1;
/// Idle power in hundredths of a watt, or in ten thousandths.
const SCALE_10_MW: u8 = 2 << 6;
const SCALE_100_UW: u8 = 1 << 6;
/// What a field of 16 bits holds in ten thousandths of a watt.
const MOST_FINE_W: f64 = 6.5;

/// Put the number of states, and a descriptor of each, into Identify Controller.
pub(super) fn describe(drive: &PacedDrive, page: &mut Page) {
    let Some((states, _)) = drive.power() else { return };
    page.put_u8(263, u8::try_from(states.len() - 1).unwrap_or(31)).put_u8(265, 1);
    for (number, state) in states.iter().enumerate() {
        let at = DESCRIPTORS + number * DESCRIPTOR_BYTES;
        let relative = u8::try_from(number).unwrap_or(31);
        let (idle, scale) = if state.idle_w < MOST_FINE_W {
            (whole(state.idle_w * 1e4), SCALE_100_UW)
        } else {
            (whole(state.idle_w * 1e2), SCALE_10_MW)
        };
        page.put_u16(at, u16_of(whole(state.most_w * 1e2)))
            .put_u8(at + 3, if state.operational { 0 } else { NON_OPERATIONAL })
            .put_u32(at + 4, whole(state.declared_entry_us.unwrap_or(state.entry_us)))
            .put_u32(at + 8, whole(state.declared_exit_us.unwrap_or(state.exit_us)))
            .put(at + 12, &[relative; 4])
            .put_u16(at + 16, u16_of(idle))
            .put_u8(at + 18, scale);
    }
}

fn whole(value: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
    let whole = value.round().max(0.0) as u32;
    whole
}

fn u16_of(value: u32) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// What is set now, or what the drive begins with; `None` where there is one state.
pub(super) fn setting(drive: &PacedDrive, is_current: bool) -> Option<PowerSetting> {
    let (states, setting) = drive.power()?;
    Some(if is_current { setting } else { PowerSetting::of(&states) })
}

/// Autonomous transitions as the feature has them: whether they are on, and 32 entries.
pub(super) fn table(setting: &PowerSetting) -> Done {
    let mut page = Page::new(TABLE_BYTES);
    for (number, transition) in setting.table.iter().enumerate() {
        page.put_u64(number * 8, u64::from(transition.to) << 3 | u64::from(transition.after_ms) << 8);
    }
    Done { result: setting.autonomous.into(), ..Done::data(page.into_bytes()) }
}

/// Enter a state.
pub(super) fn command(drive: &PacedDrive, value: u32) -> Answered {
    let state = u8::try_from(value & 31).unwrap_or(0);
    drive.command_power_state(state).map(|()| Done::default()).map_err(|_| Status::INVALID_FIELD)
}

/// Set autonomous transitions.
pub(super) fn set_table(drive: &PacedDrive, value: u32, data: &[u8]) -> Answered {
    let states = drive.power().map(|(states, _)| states).ok_or(Status::INVALID_FIELD)?;
    if data.len() < TABLE_BYTES {
        return Err(Status::INVALID_FIELD);
    }
    let mut table = [Transition::default(); MOST_POWER_STATES];
    for (number, transition) in table.iter_mut().enumerate() {
        let entry = u64_at(data, number * 8);
        let to = u8::try_from(entry >> 3 & 31).unwrap_or(0);
        let after_ms = u32::try_from(entry >> 8 & 0xFF_FFFF).unwrap_or(0);
        if after_ms > 0 && !leads_to_rest(&states, to) {
            return Err(Status::INVALID_FIELD);
        }
        *transition = Transition { to, after_ms };
    }
    drive.set_autonomous(value & 1 != 0, &table).map(|()| Done::default()).map_err(|_| Status::INVALID_FIELD)
}

/// A drive enters by itself only states without I/O.
fn leads_to_rest(states: &[PowerState], to: u8) -> bool {
    states.get(usize::from(to)).is_some_and(|state| !state.operational)
}

#[cfg(test)]
mod tests {
    use openpts_sim::{Preset, Scale, open};

    use super::super::bytes::{u16_at, u32_at};
    use super::*;

    const PRESET: &str = "name = 'x'\nsummary = 'x'\ncapacity_bytes = 1048576\n\
        [[power_states]]\nmost_w = 8.25\nidle_w = 2.0\noperational = true\n\
        [[power_states]]\nmost_w = 0.05\nidle_w = 0.0051\nentry_us = 1500\nexit_us = 9000\n\
        declared_exit_us = 10000\nafter_idle_ms = 100\n\
        [oracle.rate]\nby = 'steps'\nevery = 1\niops = [1000.0]\n";

    fn drive() -> PacedDrive {
        let preset = Preset::parse(PRESET).unwrap();
        PacedDrive::new(open(&preset, 1 << 20, Scale::ONE, 1).unwrap(), Scale::ONE)
    }

    #[test]
    fn descriptors_have_their_fields_where_the_specification_has_them() {
        let mut page = Page::new(4096);
        describe(&drive(), &mut page);
        let bytes = page.into_bytes();
        assert_eq!((bytes[263], bytes[265]), (1, 1));
        assert_eq!(
            (u16_at(&bytes, 2048), bytes[2051], u16_at(&bytes, 2064), bytes[2066]),
            (825, 0, 20_000, 0x40)
        );
        assert_eq!((u16_at(&bytes, 2080), bytes[2083]), (5, 2));
        assert_eq!((u32_at(&bytes, 2084), u32_at(&bytes, 2088)), (1_500, 10_000));
        assert_eq!((u16_at(&bytes, 2096), bytes[2098]), (51, 0x40));
    }

    #[test]
    fn a_table_is_read_back_as_it_was_set_and_nonsense_is_refused() {
        let drive = drive();
        let begun = setting(&drive, true).unwrap();
        assert_eq!(u64_at(&table(&begun).data, 0), 1 << 3 | 100 << 8);
        let mut data = vec![0; TABLE_BYTES];
        assert!(set_table(&drive, 0, &data).is_ok());
        let now = setting(&drive, true).unwrap();
        assert_eq!((now.autonomous, table(&now).data), (false, data.clone()));
        assert_eq!(setting(&drive, false).unwrap(), begun);
        data[..8].copy_from_slice(&(7_u64 << 3 | 5 << 8).to_le_bytes());
        assert_eq!(set_table(&drive, 1, &data).err(), Some(Status::INVALID_FIELD));
        assert_eq!(set_table(&drive, 1, &data[..255]).err(), Some(Status::INVALID_FIELD));
        assert!(command(&drive, 1).is_ok());
        assert_eq!(setting(&drive, true).unwrap().state, 1);
        assert_eq!(command(&drive, 2).err(), Some(Status::INVALID_FIELD));
    }
}
