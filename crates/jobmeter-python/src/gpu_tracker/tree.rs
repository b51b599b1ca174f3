//! Trees of values to Python and back: dictionaries, lists, texts, numbers and `None`.

use jobmeter_compat::Node;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// Deeper ones are no results.
const DEPTH_MAX: usize = 50;

pub(super) fn to_python<'py>(py: Python<'py>, node: &Node) -> PyResult<Bound<'py, PyAny>> {
    Ok(match node {
        Node::Null => py.None().into_bound(py),
        Node::Text(text) => PyString::new(py, text).into_any(),
        Node::Int(value) => PyInt::new(py, *value).into_any(),
        Node::Float(value) => PyFloat::new(py, *value).into_any(),
        Node::List(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(to_python(py, item)?))?;
            list.into_any()
        }
        Node::Map(entries) => row_to_python(py, entries)?.into_any(),
    })
}

pub(super) fn row_to_python<'py>(py: Python<'py>, row: &[(String, Node)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    row.iter().try_for_each(|(key, value)| dict.set_item(key, to_python(py, value)?))?;
    Ok(dict)
}

pub(super) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Node> {
    convert(value, 0)
}

fn convert(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Node> {
    if depth > DEPTH_MAX {
        return Err(PyValueError::new_err("the results nest too deeply"));
    }
    if value.is_none() {
        return Ok(Node::Null);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Node::Text(text.to_cow()?.into_owned()));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Node::Int(i64::from(value.is_truthy()?)));
    }
    if value.is_instance_of::<PyInt>() {
        // Beyond 64 bits a number is as good as its float.
        return value.extract().map(Node::Int).or_else(|_| value.extract().map(Node::Float));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((key.str()?.to_cow()?.into_owned(), convert(&value, depth + 1)?))
        };
        return dict.iter().map(entry).collect::<PyResult<_>>().map(Node::Map);
    }
    if let Ok(list) = value.cast::<PyList>() {
        let items = list.iter().map(|item| convert(&item, depth + 1));
        return items.collect::<PyResult<_>>().map(Node::List);
    }
    // Floats, and numbers of other libraries that are ready to be one.
    value.extract().map(Node::Float).map_err(|_| {
        let kind = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("results hold plain values, not {kind}"))
    })
}
