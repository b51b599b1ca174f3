//! Script and style of the page, embedded when `web/dist` was there at build time.

pub(super) struct Bundle {
    pub(super) script: &'static str,
    pub(super) style: &'static str,
}

#[cfg(has_web_bundle)]
pub(super) const BUNDLE: Option<&Bundle> = Some(&Bundle {
    script: include_str!(env!("JOBMETER_WEB_SCRIPT")),
    style: include_str!(env!("JOBMETER_WEB_STYLE")),
});

#[cfg(not(has_web_bundle))]
pub(super) const BUNDLE: Option<&Bundle> = None;

/// The look of the page, with and without the bundle.
pub(super) const STYLE: &str = include_str!("page.css");
