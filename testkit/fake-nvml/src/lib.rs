//! A shared library with the C symbols of NVML, scripted from the file that `FAKE_NVML_STATE` names,
//! or else from `fake-nvml.json` beside the library itself. A meter loads it exactly as the real one. See
//! README.md for the state file.

mod calls;
pub mod device;
pub mod lists;
pub mod state;
