//! `jobmeter._native`: the engine for Python. Glue only: it converts types and errors and releases the
//! interpreter lock; what is measured and how belongs to jobmeter-core.

mod arrow;
mod memory;
mod readings;
mod table;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::readings::{process_reading, system_reading};
    #[pymodule_export]
    use crate::table::Table;
}
