//! A run that nobody measured as one: made of others, in memory, for everything that takes a run.

use crate::encoder::{self, Encoder};
use crate::error::RecordError;
use crate::reader::Run;
use jobmeter_model::{Column, Event, Sink, Summary};

impl Run {
    /// A run with this summary and the stream that `replay` gives.
    pub fn compose(summary: &Summary, replay: impl FnOnce(&mut dyn Sink)) -> Result<Run, RecordError> {
        let mut bytes = encoder::header(&summary.run)?;
        let mut composer = Composer { encoder: Encoder::new(bytes.len() as u64) };
        replay(&mut composer);
        composer.encoder.trailer(summary)?;
        bytes.append(&mut composer.encoder.pending);
        Run::from_bytes(bytes)
    }
}

struct Composer {
    encoder: Encoder,
}

impl Sink for Composer {
    fn define(&mut self, column: &Column) {
        self.encoder.define(column);
    }

    fn event(&mut self, event: &Event) {
        self.encoder.event(event);
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.encoder.row(t_ns, values);
    }
}
