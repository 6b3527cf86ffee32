//! Power cuts: stamped writes, their journal, and the verdict.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openpts_core::powercut::{Bench, Class, FileVictim, Finding, Journal, Load, Rules, Victim, Writers};
use openpts_sim::{PowerFault, PowerFaults, SimulatedVictim};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::arguments::patience;

/// Atomic unit in bytes, faults with the share of writes that each begins in, and a seed.
type Simulated = (usize, Vec<(String, f64)>, u64);
type Accused = (&'static str, u64, u64, String, String, String);
type Found = (HashMap<&'static str, u64>, Vec<Accused>);

/// Faults by name, each with the share of writes that it begins in.
pub(super) fn power_faults(named: Vec<(String, f64)>) -> PyResult<PowerFaults> {
    let fault = |(name, share): (String, f64)| PowerFault::named(&name).map(|fault| (fault, share));
    let unknown = || PyValueError::new_err("there is no such fault");
    named.into_iter().map(fault).collect::<Option<_>>().ok_or_else(unknown)
}

/// The names of faults that a drive may have when its power goes.
#[pyfunction]
pub(super) fn power_fault_names() -> Vec<&'static str> {
    PowerFault::ALL.map(PowerFault::name).to_vec()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Running {
    journal: Arc<Mutex<Journal>>,
    writers: Writers,
}

/// A drive, or a part of one, whose power is cut again and again.
#[pyclass(name = "PowerCut", module = "openpts._native", frozen)]
pub(super) struct PyPowerCut {
    bench: Mutex<Bench>,
    simulated: Option<Mutex<SimulatedVictim>>,
    running: Mutex<Option<Running>>,
}

#[pymethods]
impl PyPowerCut {
    #[new]
    #[pyo3(signature = (
        *, sector_bytes, sectors, write_sectors, writers, writes_per_flush, fua_pct, seed, simulated,
    ))]
    #[expect(clippy::too_many_arguments, reason = "named ones, in Python")]
    fn new(
        sector_bytes: u32,
        sectors: u64,
        write_sectors: Vec<u32>,
        writers: u32,
        writes_per_flush: u32,
        fua_pct: u32,
        seed: u64,
        simulated: Option<Simulated>,
    ) -> PyResult<Self> {
        let load = Load { sector_bytes, sectors, write_sectors, writers, writes_per_flush, fua_pct, seed };
        let bench = Bench::new(load).map_err(PyValueError::new_err)?;
        let simulated = simulated
            .map(|(atomic_bytes, faults, drive_seed)| {
                let bytes = usize::try_from(sectors * u64::from(sector_bytes))?;
                let faults = power_faults(faults)?;
                let sector_bytes = sector_bytes as usize;
                let victim = SimulatedVictim::new(bytes, sector_bytes, atomic_bytes, faults, drive_seed);
                PyResult::Ok(Mutex::new(victim))
            })
            .transpose()?;
        Ok(Self { bench: Mutex::new(bench), simulated, running: Mutex::default() })
    }

    fn prepare(&self, py: Python<'_>, descriptor: RawFd) -> PyResult<()> {
        let victim = FileVictim::duplicate(descriptor)?;
        Ok(py.detach(|| locked(&self.bench).prepare(&victim))?)
    }

    fn start(&self, descriptor: RawFd) -> PyResult<()> {
        let victim: Arc<dyn Victim> = Arc::new(FileVictim::duplicate(descriptor)?);
        let bench = locked(&self.bench);
        let journal = Arc::new(Mutex::new(bench.journal()));
        let longest_bytes = bench.load().longest() as usize * bench.stamps().sector_bytes();
        let count = bench.load().writers;
        let writers = Writers::start(&victim, &journal, bench.stamps(), count, longest_bytes)?;
        *locked(&self.running) = Some(Running { journal, writers });
        Ok(())
    }

    fn cut(&self) -> PyResult<()> {
        self.with_running(|running| locked(&running.journal).cut())
    }

    fn progress(&self) -> PyResult<(u64, u64, usize, bool, Option<String>)> {
        self.with_running(|running| {
            let at_work = running.writers.at_work();
            let journal = locked(&running.journal);
            let (writes, flushes) = journal.acknowledged();
            (writes, flushes, at_work, journal.is_closed(), journal.failure().map(str::to_owned))
        })
    }

    fn end(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let timeout = patience(timeout_s)?;
        py.detach(|| self.with_running(|running| running.writers.end(timeout)))
    }

    #[pyo3(signature = (descriptor, *, volatile, atomic_sectors, each_sector))]
    fn verify(
        &self,
        py: Python<'_>,
        descriptor: RawFd,
        volatile: bool,
        atomic_sectors: u32,
        each_sector: bool,
    ) -> PyResult<Found> {
        let victim = FileVictim::duplicate(descriptor)?;
        let rules = Rules { is_volatile: volatile, atomic_sectors, each_sector };
        let found = py.detach(|| {
            self.with_running(|running| locked(&self.bench).verify(&victim, &locked(&running.journal), rules))
        })?;
        Ok(told(found?))
    }

    #[pyo3(signature = (answers, *, cache_on, volatile, atomic_sectors, each_sector))]
    fn simulate(
        &self,
        py: Python<'_>,
        answers: u64,
        cache_on: bool,
        volatile: bool,
        atomic_sectors: u32,
        each_sector: bool,
    ) -> PyResult<Found> {
        let simulated = self.simulated.as_ref().ok_or_else(|| PyRuntimeError::new_err("not simulated"))?;
        let rules = Rules { is_volatile: volatile, atomic_sectors, each_sector };
        let found = py.detach(|| {
            let mut victim = locked(simulated);
            victim.set_cache(cache_on)?;
            victim.cycle(&mut locked(&self.bench), answers, rules)
        })?;
        Ok(told(found))
    }
}

impl PyPowerCut {
    fn with_running<T>(&self, action: impl FnOnce(&Running) -> T) -> PyResult<T> {
        let running = locked(&self.running);
        running.as_ref().map(action).ok_or_else(|| PyRuntimeError::new_err("nothing was started"))
    }
}

fn told(finding: Finding) -> Found {
    let (writes, flushes) = finding.acknowledged;
    let mut counts: HashMap<_, _> = Class::ALL.map(Class::name).into_iter().zip(finding.counts).collect();
    counts.extend([
        ("writes", writes),
        ("flushes", flushes),
        ("promised", finding.promised),
        ("outstanding", finding.outstanding),
        ("lost_unpromised_sectors", finding.lost_unpromised_sectors),
        ("indeterminate_sectors", finding.indeterminate_sectors),
    ]);
    let accused = finding.accusations.into_iter().map(|accusation| {
        let class = accusation.class.name();
        let (expected, found) = (accusation.expected, accusation.found);
        (class, accusation.lba, accusation.sectors, expected, found, accusation.context)
    });
    (counts, accused.collect())
}
