//! What the memory moves: threads that copy, each within buffers of its own, all at once.

use std::io;
use std::sync::{PoisonError, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use memmap2::{Advice, MmapMut};
use rustix::time::{ClockId, clock_gettime};

use super::affinity::pin_to_cpu;

/// What is copied between two looks at the clock: a huge page.
const PIECE_BYTES: usize = 2 << 20;
/// Pages that nothing was written to are all the same one, which stays in the caches.
const CONTENT: u8 = 0xA5;

/// What copies on several processors have moved, in the time until the last of them has ended.
#[derive(Clone, Debug)]
pub struct MemoryRates {
    /// Bytes read and bytes written per second, together, of each thread.
    pub bytes_per_s: Vec<f64>,
    /// How much of that time the threads had their processors: less than all where others used them.
    pub processor_share: f64,
}

/// What a thread on each of `cpus` moves while all of them copy from one buffer of `buffer_bytes` to another.
/// The buffers are in the memory of the thread's own node.
///
/// # Errors
/// If a processor may not be used, or there is no memory for the buffers.
pub fn memory_rates(cpus: &[usize], buffer_bytes: usize, duration: Duration) -> io::Result<MemoryRates> {
    let gate = RwLock::new(None);
    let (preparing, all_prepared) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let mut end = gate.write().unwrap_or_else(PoisonError::into_inner);
        let mut threads = Vec::with_capacity(cpus.len());
        for &cpu in cpus {
            let (preparing, gate) = (preparing.clone(), &gate);
            let body = move || {
                let buffers = prepared(cpu, buffer_bytes);
                drop(preparing);
                let end = *gate.read().unwrap_or_else(PoisonError::into_inner);
                let (source, mut target) = buffers?;
                Ok(end.map(|end| copied_until(end, &source, &mut target)))
            };
            threads.push(thread::Builder::new().name("openpts-memory".into()).spawn_scoped(scope, body)?);
        }
        drop(preparing);
        // Nothing is ever sent: it fails when no thread prepares any more.
        let _ = all_prepared.recv();
        let begun = Instant::now();
        *end = Some(begun + duration);
        drop(end);
        let copied: io::Result<Vec<_>> =
            threads.into_iter().map(|thread| thread.join().map_err(|_| io::ErrorKind::Other)?).collect();
        let copied: Vec<_> = copied?.into_iter().flatten().collect();
        let last = copied.iter().map(|one| one.ended).max().unwrap_or(begun);
        let elapsed_s = (last - begun).as_secs_f64();
        let busy_s: f64 = copied.iter().map(|one| one.processor_time.as_secs_f64()).sum();
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 bytes")]
        Ok(MemoryRates {
            bytes_per_s: copied.iter().map(|one| one.bytes as f64 / elapsed_s).collect(),
            processor_share: busy_s / (elapsed_s * copied.len() as f64),
        })
    })
}

fn prepared(cpu: usize, buffer_bytes: usize) -> io::Result<(MmapMut, MmapMut)> {
    pin_to_cpu(cpu)?;
    let bytes = buffer_bytes.div_ceil(PIECE_BYTES).max(1).saturating_mul(PIECE_BYTES);
    let buffer = || {
        let mut buffer = MmapMut::map_anon(bytes)?;
        // A kernel without huge pages serves small ones.
        let _ = buffer.advise(Advice::HugePage);
        buffer.fill(CONTENT);
        io::Result::Ok(buffer)
    };
    Ok((buffer()?, buffer()?))
}

/// Bytes read and written, together, until `end` and through the last piece, and when that was.
struct Copied {
    bytes: usize,
    ended: Instant,
    processor_time: Duration,
}

fn copied_until(end: Instant, source: &[u8], target: &mut [u8]) -> Copied {
    let begun = processor_time();
    let mut bytes = 0;
    loop {
        for (to, from) in target.chunks_mut(PIECE_BYTES).zip(source.chunks(PIECE_BYTES)) {
            copy(to, from);
            bytes += from.len() + to.len();
            let ended = Instant::now();
            if ended >= end {
                return Copied { bytes, ended, processor_time: processor_time().saturating_sub(begun) };
            }
        }
    }
}

/// Of the calling thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// Copy past the caches: they would read each line of the target first, and the memory move more than counted.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn copy(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_sfence, _mm_stream_si128};
    // SAFETY: any bytes are a valid vector, and nothing but whole aligned ones is in the middle parts.
    let ((_, to, _), (_, from, _)) = unsafe { (to.align_to_mut::<__m128i>(), from.align_to::<__m128i>()) };
    for (to, from) in to.iter_mut().zip(from) {
        // SAFETY: every x86-64 processor has the instruction; the target is aligned, and is borrowed by us alone.
        unsafe { _mm_stream_si128(to, *from) };
    }
    // SAFETY: every x86-64 processor has the instruction.
    #[allow(unused_unsafe, reason = "safe since Rust 1.94")]
    unsafe {
        _mm_sfence();
    }
}

/// Processors of other kinds notice by themselves that whole lines are written.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn copy(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_has_the_content_of_the_source() {
        let mut source = MmapMut::map_anon(PIECE_BYTES).unwrap();
        for (number, byte) in source.iter_mut().enumerate() {
            *byte = (number % 251) as u8;
        }
        let mut target = MmapMut::map_anon(PIECE_BYTES).unwrap();
        copy(&mut target, &source);
        assert!(source[..] == target[..]);
    }

    // System calls that Miri does not know.
    #[cfg(not(miri))]
    #[test]
    fn a_processor_that_may_not_be_used_ends_all_threads() {
        let brief = Duration::from_millis(1);
        assert!(memory_rates(&[0, usize::MAX], PIECE_BYTES, brief).is_err());
        let shared = memory_rates(&[0, 0], PIECE_BYTES, 30 * brief).unwrap();
        assert!(shared.bytes_per_s.iter().all(|rate| *rate > 0.0), "{shared:?}");
        assert!(shared.processor_share < 0.6, "{shared:?}");
    }
}
