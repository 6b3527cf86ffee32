//! All letters that the kernel and blkparse put together.

use crate::text::letters::operation;
use crate::traced_io::{Flags, TracedOperation};

#[test]
fn letters_in_all_combinations_are_read_as_they_are_written() {
    let operations = [
        ("R", TracedOperation::Read),
        ("W", TracedOperation::Write),
        ("WZ", TracedOperation::WriteZeroes),
        ("D", TracedOperation::Trim),
        ("DE", TracedOperation::Trim),
        ("ZA", TracedOperation::ZoneAppend),
        ("ZR", TracedOperation::ZoneReset),
        ("ZO", TracedOperation::Other),
    ];
    let flags = [("F", Flags::FUA), ("A", Flags::READ_AHEAD), ("S", Flags::SYNC), ("M", Flags::META)];
    for (letters, expected) in operations {
        for set in 0..1_usize << 5 {
            let (mut text, mut all) = (String::new(), Flags::NONE);
            if set & 16 != 0 {
                text.push('F');
                all = Flags::PREFLUSH;
            }
            text += letters;
            for (index, (letter, flag)) in flags.iter().enumerate() {
                if set >> index & 1 != 0 {
                    text += letter;
                    all = all.with(*flag);
                }
            }
            assert_eq!(operation(text.as_bytes()), Some((expected, all)), "{text}");
        }
    }
}

#[test]
fn flushes_have_several_spellings() {
    for letters in ["F", "FF", "FN", "FS", "FFS", "FNS"] {
        assert_eq!(operation(letters.as_bytes()).unwrap().0, TracedOperation::Flush, "{letters}");
    }
    assert_eq!(operation(b"N"), Some((TracedOperation::Other, Flags::NONE)));
    for letters in ["", "S", "X", "WX", "Z", "ZZ", "W S"] {
        assert_eq!(operation(letters.as_bytes()), None, "{letters}");
    }
}
