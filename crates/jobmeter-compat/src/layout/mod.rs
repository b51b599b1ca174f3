//! A recorded run as the files of two other trackers, so that what reads those reads ours.
//!
//! Their columns are rates and levels per interval, so a row is the difference of two ticks. What we do not
//! know is an empty cell, where they would print 0.

mod gpu_tracker;
mod resource_tracker;

use jobmeter_record::place::AsideFile;
use jobmeter_record::{Damage, Frame, RecordError, Run};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Whose files an export looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The tracking file of gpu_tracker: two lines about the machine, then one row per interval; gigabytes.
    GpuTracker,
    /// The CSV of resource-tracker's `SystemTracker`.
    ResourceTracker,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Layout; 2] = [Layout::GpuTracker, Layout::ResourceTracker];

    /// The word that people choose it by.
    pub fn key(self) -> &'static str {
        match self {
            Layout::GpuTracker => "gpu-tracker",
            Layout::ResourceTracker => "resource-tracker",
        }
    }

    /// The layout of this name.
    pub fn from_key(key: &str) -> Option<Layout> {
        Layout::ALL.into_iter().find(|layout| layout.key() == key)
    }
}

/// Lines of one layout, as the ticks of a run come.
trait Lines {
    fn head(&self) -> String;

    /// Adds the line of the interval that this tick ends, if it ends one.
    fn put_tick(&mut self, line: &mut String, t_ns: u64, values: &[Option<u64>]);
}

/// The samples of a run in another tracker's layout.
pub fn write_layout(
    run: &Run,
    layout: Layout,
    out: impl Write,
    out_name: &Path,
) -> Result<Option<Damage>, RecordError> {
    let failed = |source| RecordError::Io { action: "write", path: out_name.to_owned(), source };
    let mut out = BufWriter::with_capacity(1 << 18, out);
    let mut lines: Box<dyn Lines> = match layout {
        Layout::GpuTracker => Box::new(gpu_tracker::TrackingLines::new(run)),
        Layout::ResourceTracker => Box::new(resource_tracker::SystemLines::new(run)),
    };
    out.write_all(lines.head().as_bytes()).map_err(failed)?;
    let mut line = String::new();
    let mut frames = run.frames();
    while let Some(frame) = frames.next() {
        let Frame::Tick { t_ns, values } = frame else { continue };
        line.clear();
        lines.put_tick(&mut line, t_ns, values);
        out.write_all(line.as_bytes()).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    Ok(frames.damage().cloned())
}

/// Writes a run in the layout of another program.
pub fn export_layout(
    run: &Run,
    layout: Layout,
    path: &Path,
    force: bool,
) -> Result<Option<Damage>, RecordError> {
    let aside = AsideFile::create(path, force)?;
    let damage = write_layout(run, layout, aside.writer()?, path)?;
    aside.publish()?;
    Ok(damage)
}

/// Values of the first tick at which this column is known.
fn first_known(run: &Run, place: usize) -> Vec<Option<u64>> {
    let mut frames = run.frames();
    while let Some(frame) = frames.next() {
        match frame {
            Frame::Tick { values, .. } if values.get(place).copied().flatten().is_some() => {
                return values.to_vec();
            }
            _ => {}
        }
    }
    Vec::new()
}
