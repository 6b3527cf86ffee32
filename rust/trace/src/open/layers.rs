//! Reads through compressions, by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

use super::super::formats::HEAD_BYTES;

/// Compressions within each other that are read through.
const MOST_LAYERS: usize = 4;
/// Memory that a stream of xz may claim: its highest preset needs a quarter.
const XZ_MEMORY_BYTES: u64 = 256 << 20;
const BUFFER_BYTES: usize = 1 << 18;

/// Bytes that can be read.
pub(super) type Bytes = Box<dyn BufRead + Send>;

/// Look at the first bytes of what is behind any compressions; what is returned with them begins with them.
pub(super) fn uncovered(mut bytes: Bytes) -> io::Result<(Vec<u8>, Bytes)> {
    for _ in 0..MOST_LAYERS {
        let (head, all) = peeked(bytes)?;
        bytes = if head.starts_with(&[0x1f, 0x8b]) {
            buffered(MultiGzDecoder::new(all))
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            buffered(zstd::stream::read::Decoder::with_buffer(all)?)
        } else if head.starts_with(b"\xfd7zXZ\0") {
            let stream =
                Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED).map_err(io::Error::other)?;
            buffered(XzDecoder::new_stream(all, stream))
        } else if head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY") {
            buffered(MultiBzDecoder::new(all))
        } else {
            return Ok((head, all));
        };
    }
    Err(io::Error::other(format!(
        "more than {MOST_LAYERS} compressions are within each other; unpack it first"
    )))
}

fn buffered(decoder: impl Read + Send + 'static) -> Bytes {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
}

fn peeked(mut bytes: Bytes) -> io::Result<(Vec<u8>, Bytes)> {
    let mut head = Vec::new();
    (&mut bytes).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let all = Cursor::new(head.clone()).chain(bytes);
    Ok((head, Box::new(all)))
}
