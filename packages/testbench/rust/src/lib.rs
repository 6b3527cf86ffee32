//! The join to Python; its documentation is in `_native.pyi`.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::time::Duration;

use openpts_core::machine;
use openpts_nvme_target::{
    Access, Change, Faults, Identity, Order, Override, Overrides, Secret, Served, Target, TargetError,
};
use openpts_sim::{PowerFault, PowerFaults, Preset, Scale};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

fn value_error<E: ToString>(error: E) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn patience(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(value_error)
}

/// Faults by name, each with the share of writes that it begins in.
fn named_faults(named: Vec<(String, f64)>) -> PyResult<PowerFaults> {
    let fault = |(name, share): (String, f64)| PowerFault::named(&name).map(|fault| (fault, share));
    let unknown = || PyValueError::new_err("there is no such fault");
    named.into_iter().map(fault).collect::<Option<_>>().ok_or_else(unknown)
}

fn target_error(error: TargetError) -> PyErr {
    let text = error.to_string();
    match error {
        TargetError::Preset(_) | TargetError::Option(_) => PyValueError::new_err(text),
        TargetError::Store(..) | TargetError::Listen(..) | TargetError::Thread(_) => PyOSError::new_err(text),
    }
}

fn with_secret((nqn, (host_key, controller_key)): (String, (Vec<u8>, Option<Vec<u8>>))) -> (String, Secret) {
    (nqn, Secret { host_key, controller_key })
}

/// Opcode, number, answers left alone, kind of change, its number, and its bytes.
type Ordered = (u8, Option<u32>, u64, String, u64, Vec<u8>);

fn ordered((opcode, number, after, kind, value, bytes): Ordered) -> PyResult<Override> {
    let change = match kind.as_str() {
        "page" => Change::Page(bytes),
        "bytes" => Change::Bytes(usize::try_from(value).map_err(value_error)?, bytes),
        "status" => Change::Refuse(u16::try_from(value).map_err(value_error)?),
        "delay" => Change::Delay(Duration::from_micros(value)),
        _ => return Err(PyValueError::new_err(format!("no change is called {kind}"))),
    };
    Ok(Override::new(opcode, number, after, change))
}

#[pyclass(name = "ServedDrive", module = "openpts_testbench._native", frozen)]
struct PyServedDrive(Target);

#[pymethods]
impl PyServedDrive {
    #[new]
    #[pyo3(signature = (
        preset, *, address, capacity_bytes, scale, seed, worn_in, ambient_c, initial_wear_pct, nqn, serial,
        model, firmware, guid, data, access, sanitize_takes_s, sanitize_fails, format_fails, purge_lies, unreadable_bytes,
        vanishes_after_ios, power_faults, secrets, overrides,
    ))]
    #[expect(clippy::too_many_arguments, reason = "named ones, in Python")]
    fn new(
        py: Python<'_>,
        preset: &str,
        address: &str,
        capacity_bytes: u64,
        scale: u32,
        seed: u64,
        worn_in: bool,
        ambient_c: Option<f64>,
        initial_wear_pct: f64,
        nqn: String,
        serial: String,
        model: String,
        firmware: String,
        guid: [u8; 16],
        data: Option<RawFd>,
        access: (String, f64, f64),
        sanitize_takes_s: f64,
        sanitize_fails: bool,
        format_fails: bool,
        purge_lies: bool,
        unreadable_bytes: Vec<u64>,
        vanishes_after_ios: Option<u64>,
        power_faults: Option<Vec<(String, f64)>>,
        secrets: BTreeMap<String, (Vec<u8>, Option<Vec<u8>>)>,
        overrides: Vec<Ordered>,
    ) -> PyResult<Self> {
        let address: SocketAddr = address.parse().map_err(value_error)?;
        let order = Order {
            preset: Preset::parse(preset).map_err(value_error)?,
            capacity_bytes,
            scale: Scale::new(scale)
                .ok_or_else(|| PyValueError::new_err("a scale of 0 is invalid: use 1 or more"))?,
            seed,
            is_worn_in: worn_in,
            ambient_c,
            initial_wear_pct,
            identity: Identity { nqn, serial, model, firmware, guid },
            data: data.map(duplicated).transpose()?,
            access: Access {
                security: access.0.parse().map_err(PyValueError::new_err::<String>)?,
                ready_after: patience(access.1)?,
                media_after: patience(access.2)?,
            },
            sanitize_takes: patience(sanitize_takes_s)?,
            faults: Faults {
                sanitize_fails,
                format_fails,
                purge_lies,
                unreadable_bytes,
                vanishes_after_ios,
                power: power_faults.map(named_faults).transpose()?,
                overrides: Overrides(overrides.into_iter().map(ordered).collect::<PyResult<_>>()?),
            },
            secrets: secrets.into_iter().map(with_secret).collect(),
        };
        py.detach(|| Target::start(order, address)).map(Self).map_err(target_error)
    }

    #[getter]
    fn address(&self) -> String {
        self.0.address().to_string()
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.0.capacity_bytes()
    }

    fn is_serving(&self) -> bool {
        self.0.is_serving()
    }

    fn served(&self, py: Python<'_>) -> HashMap<&'static str, Option<u128>> {
        let Served { ios, read_bytes, write_bytes, modelled_ns, late_ns, lateness_ns, connections } =
            py.detach(|| self.0.served());
        let late = |at: usize| lateness_ns.map(|lateness| lateness[at].into());
        HashMap::from([
            ("ios", Some(ios.into())),
            ("read_bytes", Some(read_bytes.into())),
            ("write_bytes", Some(write_bytes.into())),
            ("modelled_ns", Some(modelled_ns)),
            ("late_ns", Some(late_ns)),
            ("late_p50_ns", late(0)),
            ("late_p99_ns", late(1)),
            ("late_p99_9_ns", late(2)),
            ("late_max_ns", late(3)),
            ("connections", Some(connections as u128)),
        ])
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}

/// A descriptor of our own onto the file that the guard has opened.
fn duplicated(descriptor: RawFd) -> PyResult<File> {
    Ok(machine::Target::duplicate(descriptor)?.into_descriptor().into())
}

#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use super::PyServedDrive;
}
