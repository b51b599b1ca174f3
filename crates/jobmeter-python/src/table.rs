//! Columns of equal length, and their face towards Python: lists, and an Arrow stream.

use crate::arrow;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::ffi::CStr;
use std::sync::Arc;

/// One bit per value, least significant first; absent where every value is known.
pub(crate) type Validity = Option<Vec<u8>>;

pub(crate) enum Data {
    UInt(Vec<u64>, Validity),
    Int(Vec<i64>, Validity),
    Real(Vec<f64>, Validity),
    Text { offsets: Vec<i32>, bytes: Vec<u8>, validity: Validity },
}

impl Data {
    pub(crate) fn uints(values: impl IntoIterator<Item = Option<u64>>) -> Data {
        let (known, validity) = split(values);
        Data::UInt(known, validity)
    }

    pub(crate) fn ints(values: impl IntoIterator<Item = Option<i64>>) -> Data {
        let (known, validity) = split(values);
        Data::Int(known, validity)
    }

    pub(crate) fn reals(values: impl IntoIterator<Item = Option<f64>>) -> Data {
        let (known, validity) = split(values);
        Data::Real(known, validity)
    }

    pub(crate) fn texts(values: impl IntoIterator<Item = Option<String>>) -> Data {
        let mut offsets = vec![0];
        let mut bytes = Vec::new();
        let mut bits = Bits::default();
        for value in values {
            bits.push(value.is_some());
            bytes.extend_from_slice(value.unwrap_or_default().as_bytes());
            // Two gigabytes of names do not occur; the offset saturates rather than wrapping.
            offsets.push(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
        }
        Data::Text { offsets, bytes, validity: bits.finish() }
    }

    /// Type of the column in the words of the Arrow C interface.
    pub(crate) fn format(&self) -> &'static CStr {
        match self {
            Data::UInt(..) => c"L",
            Data::Int(..) => c"l",
            Data::Real(..) => c"g",
            Data::Text { .. } => c"u",
        }
    }

    pub(crate) fn validity(&self) -> Option<&[u8]> {
        match self {
            Data::UInt(_, bits)
            | Data::Int(_, bits)
            | Data::Real(_, bits)
            | Data::Text { validity: bits, .. } => bits.as_deref(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Data::UInt(values, _) => values.len(),
            Data::Int(values, _) => values.len(),
            Data::Real(values, _) => values.len(),
            Data::Text { offsets, .. } => offsets.len() - 1,
        }
    }

    pub(crate) fn null_count(&self) -> usize {
        (0..self.len()).filter(|index| !self.is_valid(*index)).count()
    }

    fn is_valid(&self, index: usize) -> bool {
        self.validity().is_none_or(|bits| bits[index / 8] >> (index % 8) & 1 == 1)
    }

    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let valid = |index: usize| self.is_valid(index);
        match self {
            Data::UInt(values, _) => {
                PyList::new(py, values.iter().enumerate().map(|(i, v)| valid(i).then_some(*v)))
            }
            Data::Int(values, _) => {
                PyList::new(py, values.iter().enumerate().map(|(i, v)| valid(i).then_some(*v)))
            }
            Data::Real(values, _) => {
                PyList::new(py, values.iter().enumerate().map(|(i, v)| valid(i).then_some(*v)))
            }
            Data::Text { offsets, bytes, .. } => PyList::new(
                py,
                offsets.windows(2).enumerate().map(|(i, pair)| {
                    let text = &bytes[pair[0] as usize..pair[1] as usize];
                    valid(i).then(|| String::from_utf8_lossy(text).into_owned())
                }),
            ),
        }
    }
}

/// Values, with a stand-in where one is unknown, and which of them are known.
fn split<T: Default>(values: impl IntoIterator<Item = Option<T>>) -> (Vec<T>, Validity) {
    let mut bits = Bits::default();
    let known = values.into_iter().map(|value| {
        bits.push(value.is_some());
        value.unwrap_or_default()
    });
    let known = known.collect();
    (known, bits.finish())
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    length: usize,
    any_null: bool,
}

impl Bits {
    fn push(&mut self, valid: bool) {
        if self.length.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if valid {
            self.bytes[self.length / 8] |= 1 << (self.length % 8);
        } else {
            self.any_null = true;
        }
        self.length += 1;
    }

    fn finish(self) -> Validity {
        self.any_null.then_some(self.bytes)
    }
}

/// The table that `Table.packed` described.
#[pyfunction]
pub(crate) fn table_of(columns: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Table> {
    let column = |(name, kind, values): (String, String, Bound<'_, PyAny>)| {
        let data = match kind.as_str() {
            "L" => Data::uints(values.extract::<Vec<Option<u64>>>()?),
            "l" => Data::ints(values.extract::<Vec<Option<i64>>>()?),
            "g" => Data::reals(values.extract::<Vec<Option<f64>>>()?),
            "u" => Data::texts(values.extract::<Vec<Option<String>>>()?),
            _ => return Err(PyValueError::new_err(format!("there is no kind of column {kind:?}"))),
        };
        Ok((name, data))
    };
    let columns: Vec<(String, Data)> = columns.into_iter().map(column).collect::<PyResult<_>>()?;
    let mut lengths = columns.iter().map(|(_, data)| data.len());
    let first = lengths.next();
    if lengths.any(|length| Some(length) != first) {
        return Err(PyValueError::new_err("the columns of a table are equally long"));
    }
    Ok(Table::new(columns))
}

pub(crate) struct TableData {
    pub(crate) columns: Vec<(String, Data)>,
    pub(crate) rows: usize,
}

/// A table of measurements; pyarrow, polars, duckdb and pandas read it through the Arrow stream.
#[pyclass(frozen, module = "jobmeter._native")]
pub(crate) struct Table {
    data: Arc<TableData>,
}

impl Table {
    pub(crate) fn new(columns: Vec<(String, Data)>) -> Table {
        let rows = columns.first().map_or(0, |(_, data)| data.len());
        Table { data: Arc::new(TableData { columns, rows }) }
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.data.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.data.rows
    }

    /// The values of one column; unknown ones are `None`.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let found = self.data.columns.iter().find(|(column, _)| column == name);
        let (_, data) = found.ok_or_else(|| PyKeyError::new_err(format!("there is no column {name:?}")))?;
        data.to_list(py)
    }

    /// Names, kinds and values of the columns, for `table_of` in another process.
    fn packed<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, String, Bound<'py, PyList>)>> {
        let columns = self.data.columns.iter();
        let column = |(name, data): &(String, Data)| {
            Ok((name.clone(), data.format().to_string_lossy().into_owned(), data.to_list(py)?))
        };
        columns.map(column).collect()
    }

    fn __repr__(&self) -> String {
        format!("<jobmeter._native.Table: {} rows, {} columns>", self.data.rows, self.data.columns.len())
    }

    /// The Arrow stream. A requested schema is a wish that a producer may leave unfulfilled.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let stream = arrow::stream(Arc::clone(&self.data));
        PyCapsule::new_with_value_and_destructor(py, stream, c"arrow_array_stream", |mut stream, _| {
            if let Some(release) = stream.release {
                // SAFETY: nobody took the stream out of the capsule, so it is still ours to release.
                unsafe { release(&raw mut stream) };
            }
        })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = arrow::table_schema(&self.data);
        PyCapsule::new_with_value_and_destructor(py, schema, c"arrow_schema", |mut schema, _| {
            if let Some(release) = schema.release {
                // SAFETY: as for the stream.
                unsafe { release(&raw mut schema) };
            }
        })
    }
}
