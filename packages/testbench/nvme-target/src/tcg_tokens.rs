//! Tokens of the Trusted Computing Group's streams.

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Brackets, calls and ends.
    Control(u8),
    Number(u64),
    Bytes(&'a [u8]),
}

/// The tokens of a payload, as far as they make sense.
pub(super) fn tokens(mut payload: &[u8]) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    while let Some((token, rest)) = next(payload) {
        found.push(token);
        payload = rest;
    }
    found
}

fn next(payload: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let (&first, rest) = payload.split_first()?;
    let (is_bytes, length, rest) = match first {
        0x00..=0x3F => return Some((Token::Number(first.into()), rest)),
        0x80..=0xBF => (first & 0x20 != 0, usize::from(first & 0x0F), rest),
        0xC0..=0xDF => {
            let (&low, rest) = rest.split_first()?;
            (first & 0x10 != 0, usize::from(first & 7) << 8 | usize::from(low), rest)
        }
        0xF0..=0xFF => return Some((Token::Control(first), rest)),
        // Signed and very long ones: no host of ours has a use for them.
        _ => return None,
    };
    let (data, rest) = rest.split_at_checked(length)?;
    if is_bytes {
        return Some((Token::Bytes(data), rest));
    }
    let number = data.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    (length <= 8).then_some((Token::Number(number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_have_the_lengths_of_the_specification() {
        let heard = tokens(&[0xF8, 0xA2, 7, 8, 0xD0, 1, 9, 0x82, 1, 2, 0x05, 0xF1]);
        assert_eq!(
            heard,
            [
                Token::Control(0xF8),
                Token::Bytes(&[7, 8]),
                Token::Bytes(&[9]),
                Token::Number(0x102),
                Token::Number(5),
                Token::Control(0xF1),
            ]
        );
    }

    #[test]
    fn what_is_cut_off_is_no_token() {
        assert_eq!(tokens(&[0xF8, 0xA8, 1, 2]), [Token::Control(0xF8)]);
    }
}
