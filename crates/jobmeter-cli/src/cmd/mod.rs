//! One file per subcommand: arguments and wiring; the work is in the libraries.

pub(crate) mod attach;
pub(crate) mod completions;
pub(crate) mod export;
pub(crate) mod load;
pub(crate) mod ls;
pub(crate) mod mark;
pub(crate) mod measure;
pub(crate) mod out;
pub(crate) mod prune;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod show;
