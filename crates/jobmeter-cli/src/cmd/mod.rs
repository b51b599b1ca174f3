pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod host;
pub(crate) mod views;
pub(crate) mod ls;
pub(crate) mod out;
pub(crate) mod prune;
pub(crate) mod rm;
