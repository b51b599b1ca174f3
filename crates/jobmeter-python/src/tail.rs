//! The rows that came since somebody last asked: for files that grow while the run goes on, at a cost that
//! does not grow with its length.

use crate::table::{Data, Table};
use jobmeter_model::{Column, Event, Sink};
use std::collections::VecDeque;

/// An hour at one row a second; whoever does not come for so long gets the newest ones.
const MOST_ROWS: usize = 3600;

/// Rows that are handed out again before the new ones: rates reach back over them when a row comes soon after
/// the one before.
const ROWS_AGAIN: usize = 5;

#[derive(Default)]
pub(crate) struct Tail {
    names: Vec<String>,
    rows: VecDeque<(u64, Vec<Option<u64>>)>,
    /// So many of the first rows were handed out already.
    known: usize,
}

impl Sink for Tail {
    fn define(&mut self, column: &Column) {
        self.names.push(column.name());
    }

    fn event(&mut self, _event: &Event) {}

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        if self.rows.len() == MOST_ROWS {
            self.rows.pop_front();
            self.known = self.known.saturating_sub(1);
        }
        self.rows.push_back((t_ns, values.to_vec()));
    }
}

impl Tail {
    /// The last rows that were handed out before, then the new ones; without new ones, none at all.
    pub(crate) fn take(&mut self) -> Table {
        let is_new = self.rows.len() > self.known;
        let rows = if is_new { self.rows.len() } else { 0 };
        let taken = || self.rows.iter().take(rows);
        let mut columns = vec![("t_ns".to_owned(), Data::uints(taken().map(|(t_ns, _)| Some(*t_ns))))];
        for (index, name) in self.names.iter().enumerate() {
            let values = taken().map(|(_, values)| values.get(index).copied().flatten());
            columns.push((name.clone(), Data::uints(values)));
        }
        if is_new {
            self.rows.drain(..rows.saturating_sub(ROWS_AGAIN));
            self.known = self.rows.len();
        }
        Table::new(columns)
    }
}
