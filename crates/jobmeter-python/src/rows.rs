//! The tables of a run file for Python: the same rows and columns as those of an export.

use crate::table::{Data, Table};
use jobmeter_record::table::{Cell, CellKind, RowSink, Table as Kind};
use jobmeter_record::{RecordError, Run};

/// Values of one column, as they came.
enum Values {
    Unsigned(Vec<Option<u64>>),
    Signed(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

impl Values {
    fn new(kind: CellKind) -> Values {
        match kind {
            CellKind::Unsigned => Values::Unsigned(Vec::new()),
            CellKind::Signed => Values::Signed(Vec::new()),
            CellKind::Real => Values::Real(Vec::new()),
            CellKind::Text => Values::Text(Vec::new()),
        }
    }

    /// A cell of another kind does not occur: cells fit their fields.
    fn push(&mut self, cell: Cell<'_>) {
        match self {
            Values::Unsigned(values) => {
                values.push(if let Cell::Unsigned(value) = cell { Some(value) } else { None });
            }
            Values::Signed(values) => {
                values.push(if let Cell::Signed(value) = cell { Some(value) } else { None });
            }
            Values::Real(values) => {
                values.push(if let Cell::Real(value) = cell { Some(value) } else { None });
            }
            Values::Text(values) => {
                values.push(if let Cell::Text(text) = cell { Some(text.to_owned()) } else { None });
            }
        }
    }

    /// In the given order of rows.
    fn into_data(self, order: &[usize]) -> Data {
        let rows = order.iter().copied();
        match self {
            Values::Unsigned(values) => Data::uints(rows.map(|row| values[row])),
            Values::Signed(values) => Data::ints(rows.map(|row| values[row])),
            Values::Real(values) => Data::reals(rows.map(|row| values[row])),
            Values::Text(mut values) => Data::texts(rows.map(|row| values[row].take())),
        }
    }
}

struct Columns {
    names: Vec<String>,
    values: Vec<Values>,
    rows: usize,
}

impl Columns {
    fn of(run: &Run, kind: Kind) -> Result<Columns, RecordError> {
        let fields = kind.fields(run);
        let values = fields.iter().map(|field| Values::new(field.kind)).collect();
        let names = fields.into_iter().map(|field| field.name).collect();
        let mut columns = Columns { names, values, rows: 0 };
        kind.write(run, &mut columns)?;
        Ok(columns)
    }

    fn find(&self, name: &str) -> Option<&Values> {
        self.names.iter().position(|column| column == name).map(|at| &self.values[at])
    }

    fn into_table(self, order: &[usize]) -> Table {
        let columns = self.names.into_iter().zip(self.values);
        Table::new(columns.map(|(name, values)| (name, values.into_data(order))).collect())
    }
}

impl RowSink for Columns {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        for (values, cell) in self.values.iter_mut().zip(cells) {
            values.push(*cell);
        }
        self.rows += 1;
        Ok(())
    }
}

/// Every process, in the order they were first seen.
pub(crate) fn processes(run: &Run) -> Result<Table, RecordError> {
    let columns = Columns::of(run, Kind::Processes)?;
    let order: Vec<usize> = (0..columns.rows).collect();
    Ok(columns.into_table(&order))
}

/// Every call of a phase, in the order they began.
pub(crate) fn phases(run: &Run) -> Result<Table, RecordError> {
    let columns = Columns::of(run, Kind::Spans)?;
    let mut order: Vec<usize> = (0..columns.rows).collect();
    if let (Some(Values::Unsigned(begin_ns)), Some(Values::Unsigned(depth))) =
        (columns.find("begin_ns"), columns.find("depth"))
    {
        order.sort_by_key(|row| (begin_ns[*row], depth[*row]));
    }
    Ok(columns.into_table(&order))
}

/// Points that the program named; the ends of phases are not among them.
pub(crate) fn marks(run: &Run) -> Result<Table, RecordError> {
    let columns = Columns::of(run, Kind::Marks)?;
    let is_point = |row: &usize| match columns.find("kind") {
        Some(Values::Text(kinds)) => kinds[*row].as_deref() == Some("point"),
        _ => false,
    };
    let order: Vec<usize> = (0..columns.rows).filter(is_point).collect();
    Ok(columns.into_table(&order))
}
