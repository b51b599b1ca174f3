//! Tables of a SQLite file, which anybody may have made.

use crate::error::CompatError;
use crate::limits;
use crate::table::{Row, kind};
use crate::tree::Node;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Opens a database that anybody may have made: read-only, within bounds of work, and with no function of SQL to be
/// called by what its schema holds. `table` must be a plain table: a view could ask for any amount of work.
fn open(path: &Path, table: &str, file_bytes: u64) -> Result<Connection, rusqlite::Error> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    database.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES)?;
    database.set_limit(Limit::SQLITE_LIMIT_COLUMN, COLUMNS_MAX)?;
    let mut steps_left = limits::steps_for(file_bytes);
    database.progress_handler(
        STEPS_PER_CALL as i32,
        Some(move || {
            steps_left = steps_left.saturating_sub(STEPS_PER_CALL);
            steps_left == 0
        }),
    )?;
    let is_plain = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND rootpage > 0 \
                    AND sql NOT LIKE '%GENERATED%' AND sql NOT LIKE '% AS %'";
    let found: i64 = database.query_row(is_plain, [table], |row| row.get(0))?;
    if found != 1 {
        return Err(rusqlite::Error::InvalidParameterName("there is no plain table of that name".to_owned()));
    }
    Ok(database)
}

/// Bytes of one value: the longest is the name of a code block.
const VALUE_MAX_BYTES: i32 = 1 << 20;
const COLUMNS_MAX: i32 = 100;
const STEPS_PER_CALL: u64 = 1000;

/// `table` is one of our own names, never text from outside.
pub(crate) fn select(path: &Path, table: &str) -> Result<Vec<Row>, CompatError> {
    let failed = |error: rusqlite::Error| {
        let text = jobmeter_model::text::printable(&error.to_string());
        CompatError::file(&format!("read the table \"{table}\" of"), path, text)
    };
    let meta = std::fs::metadata(path).map_err(|error| CompatError::io("read", path, error))?;
    if !meta.is_file() {
        return Err(CompatError::file("read", path, "it is not a regular file"));
    }
    let database = open(path, table, meta.len()).map_err(failed)?;
    let mut cells_left = limits::cells_for(meta.len());
    let mut statement = database.prepare(&format!("SELECT * FROM {table}")).map_err(failed)?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut found = statement.query([]).map_err(failed)?;
    let mut rows = Vec::new();
    while let Some(record) = found.next().map_err(failed)? {
        let mut row = Row::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let value = match record.get_ref(index).map_err(failed)? {
                ValueRef::Integer(value) if kind(name) == "FLOAT" => Node::Float(value as f64),
                ValueRef::Integer(value) => Node::Int(value),
                ValueRef::Real(value) => Node::Float(value),
                ValueRef::Text(text) => {
                    cells_left = cells_left.saturating_sub(text.len() as u64 / limits::TEXT_BYTES_PER_CELL);
                    Node::Text(String::from_utf8_lossy(text).into_owned())
                }
                ValueRef::Null | ValueRef::Blob(_) => Node::Null,
            };
            row.push((name.clone(), value));
        }
        cells_left = cells_left.saturating_sub(names.len() as u64);
        if cells_left == 0 {
            return Err(limits::too_large(path));
        }
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::read_sub_tracking;

    fn refused(sql: &str) -> String {
        let room = tempfile::tempdir().expect("a folder");
        let path = room.path().join("x.sqlite");
        Connection::open(&path).expect("a database").execute_batch(sql).expect("the statements");
        read_sub_tracking(&path).expect_err("too much").to_string()
    }

    #[test]
    fn a_database_that_asks_for_work_is_refused() {
        let endless = "CREATE VIEW data AS WITH RECURSIVE r(process_id, code_block_name, position, timestamp) AS \
                       (SELECT 1, 'a', 0, 1.0 UNION ALL SELECT process_id + 1, 'a', 0, 1.0 FROM r) SELECT * FROM r";
        assert!(refused(endless).contains("no plain table"), "{}", refused(endless));
        let made = "CREATE TABLE data (process_id INTEGER, code_block_name AS (hex(zeroblob(1000))), position, \
                    timestamp); INSERT INTO data (process_id) VALUES (1)";
        assert!(refused(made).contains("no plain table"), "{}", refused(made));
        let long = "CREATE TABLE data (process_id, code_block_name, position, timestamp); \
                    INSERT INTO data VALUES (1, hex(zeroblob(2000000)), 0, 1.0)";
        assert!(refused(long).contains("cannot read"), "{}", refused(long));
    }
}
