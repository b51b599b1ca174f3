//! The ticks of a run column by column.

use crate::table::{Data, Table};
use jobmeter_model::{Column, Event, Sink};

/// Every tick. Columns that appear late are unknown before they appeared.
#[derive(Default)]
pub(crate) struct Ticks {
    columns: Vec<Column>,
    values: Vec<Vec<Option<u64>>>,
    t_ns: Vec<u64>,
}

impl Sink for Ticks {
    fn define(&mut self, column: &Column) {
        self.columns.push(column.clone());
        self.values.push(vec![None; self.t_ns.len()]);
    }

    fn event(&mut self, _event: &Event) {}

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.t_ns.push(t_ns);
        for (index, column) in self.values.iter_mut().enumerate() {
            column.push(values.get(index).copied().flatten());
        }
    }
}

impl Ticks {
    /// The whole stream of a run.
    pub(crate) fn of(run: &jobmeter_record::Run) -> Ticks {
        let mut ticks = Ticks::default();
        run.replay(&mut ticks);
        ticks
    }

    pub(crate) fn samples(&self) -> Table {
        let mut columns = vec![("t_ns".to_owned(), Data::uints(self.t_ns.iter().copied().map(Some)))];
        for (column, values) in self.columns.iter().zip(&self.values) {
            columns.push((column.name(), Data::uints(values.iter().copied())));
        }
        Table::new(columns)
    }
}
