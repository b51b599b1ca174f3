//! Where ticks and events go: the sums of the summary and every listener, in the same order.

use super::layout::Row;
use jobmeter_model::accumulate::Accumulator;
use jobmeter_model::event::{Event, Sink};

pub(crate) struct Output {
    pub row: Row,
    pub sums: Accumulator,
    sinks: Vec<Box<dyn Sink + Send>>,
    /// Columns that all listeners know of.
    defined: usize,
}

impl Output {
    pub(crate) fn new(row: Row) -> Output {
        Output { row, sums: Accumulator::default(), sinks: Vec::new(), defined: 0 }
    }

    /// The new listener learns of all columns; the others of those that are new.
    pub(crate) fn add_sink(&mut self, mut sink: Box<dyn Sink + Send>) {
        self.define_columns();
        self.row.define_into(sink.as_mut(), 0);
        self.sinks.push(sink);
    }

    pub(crate) fn emit(&mut self, event: &Event) {
        self.sums.event(event);
        for sink in &mut self.sinks {
            sink.event(event);
        }
    }

    /// Tells the listeners of columns that are new since the last call.
    pub(crate) fn define_columns(&mut self) {
        for column in &self.row.columns[self.defined..] {
            self.sums.define(column);
            for sink in &mut self.sinks {
                sink.define(column);
            }
        }
        self.defined = self.row.columns.len();
    }

    pub(crate) fn publish(&mut self, t_ns: u64) {
        self.define_columns();
        self.sums.tick(t_ns, &self.row.values);
        for sink in &mut self.sinks {
            sink.tick(t_ns, &self.row.values);
        }
    }

    /// Lets the listeners go.
    pub(crate) fn close(&mut self) {
        self.sinks = Vec::new();
    }
}
