//! gpu_tracker's formats, percentages and analyses for Python. They are jobmeter-compat's, which the command line uses
//! as well; this converts types and errors.

mod analysis;
mod sub_file;
mod tracking;
mod tree;

pub(crate) use analysis::{
    gpu_tracker_analyze, gpu_tracker_code_blocks, gpu_tracker_columns, gpu_tracker_combine,
    gpu_tracker_compare, gpu_tracker_data, gpu_tracker_load_results, gpu_tracker_overall, gpu_tracker_report,
    gpu_tracker_spans, gpu_tracker_static_data, gpu_tracker_sub_data, gpu_tracker_text,
    gpu_tracker_timepoints,
};
pub(crate) use sub_file::GpuSubFile;
pub(crate) use tracking::GpuTracking;

use jobmeter_compat::CompatError;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

fn compat_error(error: CompatError) -> PyErr {
    let text = error.to_string();
    match error {
        // Python picks the subclass by the number.
        CompatError::System { errno, .. } => PyOSError::new_err((errno, text)),
        CompatError::File(_) => PyOSError::new_err(text),
        CompatError::Value(_) | CompatError::Usage(_) => PyValueError::new_err(text),
    }
}
