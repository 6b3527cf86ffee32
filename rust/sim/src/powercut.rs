//! A host that writes to simulated contents until their power goes.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use openpts_core::powercut::{Action, Bench, Finding, Journal, Rules, Victim};
use openpts_core::workload::Uniform;

use super::contents::{Contents, PowerFaults};

/// Contents in memory; `cache_on`: what is written is durable only after a flush, or with Force Unit Access.
#[derive(Debug)]
pub struct SimulatedVictim {
    contents: Mutex<Contents<Vec<u8>>>,
    cache_on: bool,
}

impl Victim for SimulatedVictim {
    fn write(&self, offset_bytes: u64, data: &[u8], through: bool) -> io::Result<()> {
        self.lock().write(offset_bytes, data, through || !self.cache_on)
    }

    fn flush(&self) -> io::Result<()> {
        self.lock().flush()
    }

    fn read(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.lock().read(offset_bytes, buffer)
    }
}

impl SimulatedVictim {
    /// Contents of zeros.
    #[must_use]
    pub fn new(
        bytes: usize,
        sector_bytes: usize,
        atomic_bytes: usize,
        faults: PowerFaults,
        seed: u64,
    ) -> Self {
        let contents = Contents::new(vec![0; bytes], sector_bytes, atomic_bytes, faults, seed);
        Self { contents: Mutex::new(contents), cache_on: true }
    }

    /// Switch the cache; what is in it is made durable.
    ///
    /// # Errors
    /// Those of the media.
    pub fn set_cache(&mut self, on: bool) -> io::Result<()> {
        self.lock().flush()?;
        self.cache_on = on;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Contents<Vec<u8>>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Write until so many answers have come, cut the power, and judge what is left. Answers come in any
    /// order.
    ///
    /// # Errors
    /// Those of the media.
    pub fn cycle(&self, bench: &mut Bench, answers: u64, rules: Rules) -> io::Result<Finding> {
        bench.prepare(self)?;
        let mut journal = bench.journal();
        let mut random = Uniform::for_session(bench.load().seed ^ journal.end());
        let mut outstanding: Vec<(Action, Vec<u8>)> = Vec::new();
        for _ in 0..answers {
            while outstanding.len() < bench.load().writers as usize {
                outstanding.extend(submitted(bench, &mut journal));
            }
            let place = usize::try_from(random.below(outstanding.len() as u64)).unwrap_or(0);
            let (action, data) = outstanding.swap_remove(place);
            match action {
                Action::Flush(_) => self.flush()?,
                Action::Write { through, .. } => self.write(offset(bench, &action), &data, through)?,
            }
            journal.acknowledge(&action);
        }
        let writes = outstanding.into_iter().filter(|(_, data)| !data.is_empty());
        let writes: Vec<_> = writes.map(|(action, data)| (offset(bench, &action), data)).collect();
        self.lock().cut(&writes)?;
        bench.verify(self, &journal, rules)
    }
}

fn submitted(bench: &Bench, journal: &mut Journal) -> Option<(Action, Vec<u8>)> {
    let action = journal.deal()?;
    let mut data = Vec::new();
    if let Action::Write { sequence, first, sectors, .. } = action {
        data.resize(sectors as usize * bench.stamps().sector_bytes(), 0);
        bench.stamps().fill(sequence, first, &mut data);
    }
    Some((action, data))
}

fn offset(bench: &Bench, action: &Action) -> u64 {
    match action {
        Action::Write { first, .. } => first * bench.stamps().sector_bytes() as u64,
        Action::Flush(_) => 0,
    }
}

#[cfg(test)]
mod tests;
