//! The cutter of lines, with sources that give what they have in pieces.

use std::io::{BufReader, Cursor, Read};
use std::path::PathBuf;

use crate::error::TraceError;
use crate::source::Source;
use crate::text::lines::{LINE_BYTES_MAX, Lines};

/// Gives a few bytes at a time.
struct Piecewise {
    text: Cursor<Vec<u8>>,
    piece: usize,
}

impl Read for Piecewise {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(self.piece);
        self.text.read(&mut buffer[..count])
    }
}

fn lines_of(texts: &[Vec<u8>], piece: usize) -> Vec<(Vec<u8>, usize, u64, bool, bool)> {
    let sources = texts
        .iter()
        .map(|text| Source {
            path: PathBuf::from("text"),
            bytes: Box::new(BufReader::with_capacity(
                1,
                Piecewise { text: Cursor::new(text.clone()), piece },
            )),
        })
        .collect();
    let (mut lines, mut found) = (Lines::new(sources), Vec::new());
    while lines.next_file().unwrap() {
        while let Some(line) = lines.next().unwrap() {
            found.push((line.text.to_vec(), line.file, line.number, line.is_ended, line.is_too_long));
        }
    }
    found
}

#[test]
fn lines_are_cut_whatever_the_pieces() {
    let texts = [b"\xef\xbb\xbfone\r\n\ntwo\0\n".to_vec(), Vec::new(), b"three\xff\r\rlast".to_vec()];
    for piece in [1, 2, 3, 7, 1 << 20] {
        let expected: [(&[u8], usize, u64, bool); 4] = [
            (b"one", 0, 1, true),
            (b"", 0, 2, true),
            (b"two\0", 0, 3, true),
            (b"three\xff\r\rlast", 2, 1, false),
        ];
        let expected =
            expected.map(|(text, file, number, is_ended)| (text.to_vec(), file, number, is_ended, false));
        assert_eq!(lines_of(&texts, piece), expected);
    }
}

#[test]
fn a_line_without_end_is_passed_over_in_bounded_memory() {
    for length in [LINE_BYTES_MAX, LINE_BYTES_MAX + 1, 3 << 20] {
        for piece in [4096, 65_537, 1 << 20] {
            for end in ["\nnext\n", ""] {
                let text = [&vec![b'x'; length], end.as_bytes()].concat();
                let found = lines_of(&[text], piece);
                assert_eq!(found[0].4, length > LINE_BYTES_MAX);
                assert_eq!(found[0].3, !end.is_empty());
                assert!(found[0].0.len() <= LINE_BYTES_MAX);
                let rest: Vec<_> = found[1..].iter().map(|line| (line.0.as_slice(), line.2)).collect();
                let expected: &[(&[u8], u64)] = if end.is_empty() { &[] } else { &[(b"next", 2)] };
                assert_eq!(rest, expected, "{length} {piece}");
            }
        }
    }
}

#[test]
fn an_error_names_the_file() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from_raw_os_error(5))
        }
    }
    let source = Source { path: PathBuf::from("/trace"), bytes: Box::new(BufReader::new(Broken)) };
    let error = Lines::new(vec![source]).next_file().err().unwrap();
    assert!(matches!(error, TraceError::File { path, .. } if *path == *"/trace"));
}
