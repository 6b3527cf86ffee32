//! Numbers of texts, digit by digit: no value goes through floating point.

use crate::tally::DamageClass;

const NOT_A_NUMBER: DamageClass = "not a number";
const EMPTY: DamageClass = "empty field";
const NEGATIVE: DamageClass = "negative number";
const TOO_LARGE: DamageClass = "number too large";

/// A whole number.
pub(super) fn whole(text: &[u8]) -> Result<u64, DamageClass> {
    if text.is_empty() {
        return Err(EMPTY);
    }
    // As many digits fit into 64 bits whatever they are.
    if text.len() <= 19 {
        let mut value = 0;
        for byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return Err(not_a_number(text));
            }
            value = value * 10 + u64::from(digit);
        }
        return Ok(value);
    }
    text.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(not_a_number(text));
        }
        value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit))).ok_or(TOO_LARGE)
    })
}

/// A hexadecimal number, with or without `0x`.
pub(super) fn hexadecimal(text: &[u8]) -> Result<u64, DamageClass> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() {
        return Err(EMPTY);
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = char::from(*byte).to_digit(16).ok_or_else(|| not_a_number(text))?;
        if value >> 60 == 0 { Ok(value << 4 | u64::from(digit)) } else { Err(TOO_LARGE) }
    })
}

#[cold]
fn not_a_number(text: &[u8]) -> DamageClass {
    match text {
        [b'-', rest @ ..]
            if !rest.is_empty() && rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.')) =>
        {
            NEGATIVE
        }
        _ => NOT_A_NUMBER,
    }
}

/// A time or a span, with the step of the digits by which it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) ns: i64,
    pub(super) step_ns: u64,
}

/// A whole number or a decimal fraction of units of a power of ten of ns. Digits below 1 ns are read and left out.
pub(super) fn time(text: &[u8], unit_ns: u64) -> Result<Time, DamageClass> {
    let (integer, fraction) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &text[..0]),
    };
    if integer.is_empty() && fraction.is_empty() {
        return Err(if text.is_empty() { EMPTY } else { NOT_A_NUMBER });
    }
    let units = if integer.is_empty() { 0 } else { whole(integer).map_err(|_| class_of_time(text))? };
    let mut ns = units.checked_mul(unit_ns).ok_or(TOO_LARGE)?;
    let mut step_ns = unit_ns;
    for byte in fraction {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NOT_A_NUMBER);
        }
        step_ns /= 10;
        ns = ns.checked_add(step_ns * u64::from(digit)).ok_or(TOO_LARGE)?;
    }
    Ok(Time { ns: i64::try_from(ns).map_err(|_| TOO_LARGE)?, step_ns: step_ns.max(1) })
}

#[cold]
fn class_of_time(text: &[u8]) -> DamageClass {
    match not_a_number(text) {
        NOT_A_NUMBER if text.len() > 19 && text.iter().all(u8::is_ascii_digit) => TOO_LARGE,
        class => class,
    }
}

/// A time of day, `HH:MM:SS` with or without a fraction.
pub(super) fn time_of_day(text: &[u8]) -> Result<Time, DamageClass> {
    let mut parts = text.splitn(3, |byte| *byte == b':');
    let (Some(hours), Some(minutes), Some(seconds)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("not a time of day");
    };
    let (hours, minutes) = (whole(hours)?, whole(minutes)?);
    let seconds = time(seconds, 1_000_000_000)?;
    if hours > 23 || minutes > 59 || seconds.ns >= 61_000_000_000 {
        return Err("not a time of day");
    }
    let ns = seconds.ns + (hours * 3600 + minutes * 60) as i64 * 1_000_000_000;
    Ok(Time { ns, ..seconds })
}
