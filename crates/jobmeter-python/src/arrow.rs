//! The Arrow C data interface by hand: a table as a stream of one batch, its buffers shared, not copied.
//! The structures and the rules of ownership are those of the Arrow specification: whoever holds a structure
//! calls its `release` once, and a released structure has no `release` any more.

use crate::table::{Data, TableData};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

const FLAG_NULLABLE: i64 = 2;

#[repr(C)]
pub(crate) struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    pub(crate) release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub(crate) struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub(crate) struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub(crate) release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: the structures own what they point to, which is immutable or guarded by `Arc`.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowArrayStream {}

/// What a schema points to; freed with it.
struct SchemaOwner {
    _format: CString,
    _name: CString,
    children: Vec<*mut ArrowSchema>,
}

/// What an array points to; the table stays alive as long as any array of it.
struct ArrayOwner {
    _table: Arc<TableData>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

struct StreamOwner {
    table: Arc<TableData>,
    done: bool,
}

fn schema(format: &CStr, name: &str, flags: i64, children: Vec<ArrowSchema>) -> ArrowSchema {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    // A name cannot hold a zero byte in C; it is cut out rather than losing the column.
    let name = CString::new(name.replace('\0', "")).unwrap_or_default();
    let mut owner = Box::new(SchemaOwner { _format: format.to_owned(), _name: name, children });
    ArrowSchema {
        format: owner._format.as_ptr(),
        name: owner._name.as_ptr(),
        metadata: null(),
        flags,
        n_children: owner.children.len() as i64,
        children: owner.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(owner).cast(),
    }
}

/// The schema of a table: a struct of its columns.
pub(crate) fn table_schema(table: &TableData) -> ArrowSchema {
    let children =
        table.columns.iter().map(|(name, data)| schema(data.format(), name, FLAG_NULLABLE, vec![]));
    schema(c"+s", "", 0, children.collect())
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the caller hands over a live structure made by `schema`; its owner was boxed there.
    unsafe {
        let owner = Box::from_raw((*schema).private_data.cast::<SchemaOwner>());
        for child in &owner.children {
            // A child may have been moved out by the consumer; then its release is gone.
            let mut child = Box::from_raw(*child);
            if let Some(release) = child.release {
                release(&raw mut *child);
            }
        }
        (*schema).release = None;
    }
}

fn array(table: &Arc<TableData>, length: usize, nulls: i64, buffers: Vec<*const c_void>) -> ArrowArray {
    array_of(table, length, nulls, buffers, vec![])
}

fn array_of(
    table: &Arc<TableData>,
    length: usize,
    null_count: i64,
    buffers: Vec<*const c_void>,
    children: Vec<ArrowArray>,
) -> ArrowArray {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut owner = Box::new(ArrayOwner { _table: Arc::clone(table), buffers, children });
    ArrowArray {
        length: length as i64,
        null_count,
        offset: 0,
        n_buffers: owner.buffers.len() as i64,
        n_children: owner.children.len() as i64,
        buffers: owner.buffers.as_mut_ptr(),
        children: owner.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(owner).cast(),
    }
}

fn batch(table: &Arc<TableData>) -> ArrowArray {
    let children = table.columns.iter().map(|(_, data)| {
        let valid = data.validity().map_or(null(), |bits| bits.as_ptr().cast());
        let buffers = match data {
            Data::UInt(values, _) => vec![valid, values.as_ptr().cast()],
            Data::Int(values, _) => vec![valid, values.as_ptr().cast()],
            Data::Real(values, _) => vec![valid, values.as_ptr().cast()],
            Data::Text { offsets, bytes, .. } => vec![valid, offsets.as_ptr().cast(), bytes.as_ptr().cast()],
        };
        array(table, table.rows, data.null_count() as i64, buffers)
    });
    array_of(table, table.rows, 0, vec![null()], children.collect())
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the caller hands over a live structure made by `array_of`; its owner was boxed there.
    unsafe {
        let owner = Box::from_raw((*array).private_data.cast::<ArrayOwner>());
        for child in &owner.children {
            let mut child = Box::from_raw(*child);
            if let Some(release) = child.release {
                release(&raw mut *child);
            }
        }
        (*array).release = None;
    }
}

/// A stream of one batch.
pub(crate) fn stream(table: Arc<TableData>) -> ArrowArrayStream {
    ArrowArrayStream {
        get_schema: Some(stream_schema),
        get_next: Some(stream_next),
        get_last_error: Some(stream_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(StreamOwner { table, done: false })).cast(),
    }
}

unsafe extern "C" fn stream_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: a live stream of ours, and room for a schema, by the rules of the interface.
    unsafe {
        let owner = &*(*stream).private_data.cast::<StreamOwner>();
        out.write(table_schema(&owner.table));
    }
    0
}

unsafe extern "C" fn stream_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: a live stream of ours, and room for an array, by the rules of the interface.
    unsafe {
        let owner = &mut *(*stream).private_data.cast::<StreamOwner>();
        if owner.done {
            // The end of a stream is an array that is released already.
            let mut end = array(&owner.table, 0, 0, vec![]);
            release_array(&raw mut end);
            out.write(end);
        } else {
            owner.done = true;
            out.write(batch(&owner.table));
        }
    }
    0
}

unsafe extern "C" fn stream_error(_stream: *mut ArrowArrayStream) -> *const c_char {
    null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: a live stream of ours, released once.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamOwner>()));
        (*stream).release = None;
    }
}
