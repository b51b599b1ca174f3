//! A shared library with the C symbols of NVML, scripted from the file that `FAKE_NVML_STATE` names. Loaded
//! by a meter exactly as the real one. See README.md for the state file.

mod calls;
mod device;
mod lists;
pub mod state;
