//! `jobmeter._native`: the engine for Python. Glue only: it converts types and errors and releases the
//! interpreter lock; what is measured and how belongs to jobmeter-engine.

mod arrow;
mod away;
mod background;
mod devices;
mod files;
mod gpu_tracker;
mod guidance;
mod host;
mod hub;
mod own_io;
mod page;
mod readings;
mod rows;
mod servers;
mod session;
mod table;
mod tail;
mod ticks;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    use super::*;

    #[pymodule_export]
    use crate::away::program_ends;
    #[pymodule_export]
    use crate::files::{create_file, write_file};
    #[pymodule_export]
    use crate::gpu_tracker::{
        GpuSubFile, GpuTracking, gpu_tracker_analyze, gpu_tracker_code_blocks, gpu_tracker_columns,
        gpu_tracker_combine, gpu_tracker_compare, gpu_tracker_data, gpu_tracker_load_results,
        gpu_tracker_overall, gpu_tracker_report, gpu_tracker_spans, gpu_tracker_static_data,
        gpu_tracker_sub_data, gpu_tracker_text, gpu_tracker_timepoints,
    };
    #[pymodule_export]
    use crate::host::{CloudSearch, cloud_facts, cloud_info, host_info, server_info};
    #[pymodule_export]
    use crate::page::page_of_rows;
    #[pymodule_export]
    use crate::readings::{gpus, process_reading, system_reading};
    #[pymodule_export]
    use crate::servers::{recommend_resources, recommend_server, recommend_servers, server_price};
    #[pymodule_export]
    use crate::session::{Recording, Session, load, mark_outer, restore};
    #[pymodule_export]
    use crate::table::{Table, table_of};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        hub::watch_forks();
        // Read now, not on the first use: see `watch_forks`.
        jobmeter_engine::linux::cpus::online();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
