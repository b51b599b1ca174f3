//! The rows that came since somebody last asked: for files that grow while the run goes on, at a cost that
//! does not grow with its length.

use crate::table::{Data, Table};
use jobmeter_model::{Column, Event, Sink};
use std::collections::VecDeque;

/// An hour at one row a second; whoever does not come for so long gets the newest ones.
const MOST_ROWS: usize = 3600;

#[derive(Default)]
pub(crate) struct Tail {
    names: Vec<String>,
    rows: VecDeque<(u64, Vec<Option<u64>>)>,
}

impl Sink for Tail {
    fn define(&mut self, column: &Column) {
        self.names.push(column.name());
    }

    fn event(&mut self, _event: &Event) {}

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        if self.rows.len() == MOST_ROWS {
            self.rows.pop_front();
        }
        self.rows.push_back((t_ns, values.to_vec()));
    }
}

impl Tail {
    /// The rows since the last call.
    pub(crate) fn take(&mut self) -> Table {
        let taken = || self.rows.iter();
        let mut columns = vec![("t_ns".to_owned(), Data::uints(taken().map(|(t_ns, _)| Some(*t_ns))))];
        for (index, name) in self.names.iter().enumerate() {
            let values = taken().map(|(_, values)| values.get(index).copied().flatten());
            columns.push((name.clone(), Data::uints(values)));
        }
        self.rows.clear();
        Table::new(columns)
    }
}
