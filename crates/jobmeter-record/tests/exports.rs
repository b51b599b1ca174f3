//! Exports read back: every cell of every table, through readers that are not our writers.

mod common;

use common::{SteadyJob, info, sample_events, summary};
use jobmeter_model::{Column, EntityKind, Event, MarkKind, Metric, ProcessId, Scope, Sink};
use jobmeter_record::export::{Format, export_file, export_folder, export_sqlite};
use jobmeter_record::table::{Cell, CellKind, Field, RowSink, Table};
use jobmeter_record::{RecordError, Run, SharedBuffer, Target, Writer};
use parquet::file::reader::FileReader;
use parquet::record::Field as ParquetField;
use proptest::prelude::*;
use std::path::Path;

/// A cell that owns its text.
#[derive(Debug, Clone, PartialEq)]
enum Owned {
    Null,
    Unsigned(u64),
    Signed(i64),
    Real(f64),
    Text(String),
}

#[derive(Default)]
struct Rows(Vec<Vec<Owned>>);

impl RowSink for Rows {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        let owned = |cell: &Cell<'_>| match cell {
            Cell::Null => Owned::Null,
            Cell::Unsigned(value) => Owned::Unsigned(*value),
            Cell::Signed(value) => Owned::Signed(*value),
            Cell::Real(value) => Owned::Real(*value),
            Cell::Text(text) => Owned::Text((*text).to_owned()),
        };
        self.0.push(cells.iter().map(owned).collect());
        Ok(())
    }
}

fn from_text(text: &str, kind: CellKind) -> Owned {
    match kind {
        CellKind::Unsigned => Owned::Unsigned(text.parse().unwrap()),
        CellKind::Signed => Owned::Signed(text.parse().unwrap()),
        CellKind::Real => Owned::Real(text.parse().unwrap()),
        CellKind::Text => Owned::Text(text.to_owned()),
    }
}

/// A small reader of RFC 4180: quoted cells come as `Ok`, bare ones as `Err`.
fn parse_csv(text: &str) -> Vec<Vec<Result<String, String>>> {
    let mut rows = vec![vec![]];
    let mut letters = text.chars().peekable();
    while letters.peek().is_some() {
        let quoted = letters.next_if_eq(&'"').is_some();
        let mut cell = String::new();
        while let Some(letter) = letters.peek().copied() {
            match (quoted, letter) {
                (true, '"') => {
                    letters.next();
                    if letters.next_if_eq(&'"').is_none() {
                        break;
                    }
                    cell.push('"');
                }
                (false, ',' | '\n') => break,
                _ => cell.extend(letters.next()),
            }
        }
        rows.last_mut().unwrap().push(if quoted { Ok(cell) } else { Err(cell) });
        if letters.next() == Some('\n') {
            rows.push(vec![]);
        }
    }
    assert_eq!(rows.pop(), Some(vec![]), "the last line has an end");
    rows
}

fn import_csv(path: &Path, fields: &[Field]) -> Vec<Vec<Owned>> {
    let mut rows = parse_csv(&std::fs::read_to_string(path).unwrap()).into_iter();
    let names: Vec<String> = rows.next().unwrap().into_iter().map(Result::unwrap_err).collect();
    assert_eq!(names, fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>());
    let formula = |text: &str| {
        text.starts_with('\'')
            && text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '|', '%'])
    };
    rows.map(|row| {
        assert_eq!(row.len(), fields.len());
        let cells = row.into_iter().zip(fields).map(|(cell, field)| match cell {
            Err(empty) if empty.is_empty() => Owned::Null,
            Err(bare) => from_text(&bare, field.kind),
            Ok(text) => {
                assert!(!text.starts_with(['=', '+', '-', '@']), "a formula got through: {text:?}");
                Owned::Text(if formula(&text) { text[1..].to_owned() } else { text })
            }
        });
        cells.collect()
    })
    .collect()
}

fn import_jsonl(path: &Path, fields: &[Field]) -> Vec<Vec<Owned>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(object.as_object().unwrap().len(), fields.len());
            let cell = |field: &Field| match &object[&field.name] {
                serde_json::Value::Null => Owned::Null,
                serde_json::Value::String(text) => Owned::Text(text.clone()),
                number => from_text(&number.to_string(), field.kind),
            };
            fields.iter().map(cell).collect()
        })
        .collect()
}

fn import_parquet(path: &Path, fields: &[Field]) -> Vec<Vec<Owned>> {
    let file = std::fs::File::open(path).unwrap();
    let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let cell = |((name, cell), field): ((&String, &ParquetField), &Field)| {
            assert_eq!(name, &field.name);
            match cell {
                ParquetField::Null => Owned::Null,
                ParquetField::ULong(value) => Owned::Unsigned(*value),
                ParquetField::Long(value) => Owned::Signed(*value),
                ParquetField::Double(value) => Owned::Real(*value),
                ParquetField::Str(text) => Owned::Text(text.clone()),
                other => panic!("{other:?}"),
            }
        };
        row.get_column_iter().zip(fields).map(cell).collect()
    });
    rows.collect()
}

fn import_sqlite(path: &Path, table: &str, fields: &[Field]) -> Vec<Vec<Owned>> {
    use rusqlite::types::ValueRef;
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut select = connection.prepare(&format!("SELECT * FROM {table} ORDER BY rowid")).unwrap();
    assert_eq!(select.column_names(), fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>());
    let read = |row: &rusqlite::Row<'_>| {
        let cell = |(index, field): (usize, &Field)| match (row.get_ref(index).unwrap(), field.kind) {
            (ValueRef::Null, _) => Owned::Null,
            (ValueRef::Integer(value), CellKind::Unsigned) => Owned::Unsigned(value.try_into().unwrap()),
            (ValueRef::Integer(value), _) => Owned::Signed(value),
            (ValueRef::Real(value), _) => Owned::Real(value),
            (ValueRef::Text(text) | ValueRef::Blob(text), kind) => {
                from_text(std::str::from_utf8(text).unwrap(), kind)
            }
        };
        Ok(fields.iter().enumerate().map(cell).collect())
    };
    select.query_map([], read).unwrap().map(Result::unwrap).collect()
}

fn record(tell: impl FnOnce(&mut Writer)) -> Run {
    let buffer = SharedBuffer::default();
    let info = info("20261115T220212-1f3a9c");
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info).unwrap();
    tell(&mut writer);
    writer.finish(&summary(&info)).unwrap();
    Run::from_bytes(buffer.snapshot()).unwrap()
}

fn check_round_trips(run: &Run) {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = directory.path().join("all.sqlite");
    export_sqlite(run, &Table::ALL, &sqlite, false).unwrap();
    for table in Table::ALL {
        let fields = table.fields(run);
        let mut expected = Rows::default();
        table.write(run, &mut expected).unwrap();
        let expected = expected.0;
        let file = |format: Format| {
            let path = directory.path().join(format!("{}.{}", table.key(), format.key()));
            assert_eq!(export_file(run, table, format, &path, false).unwrap(), None);
            path
        };
        assert_eq!(import_csv(&file(Format::Csv), &fields), expected, "csv {table:?}");
        assert_eq!(import_jsonl(&file(Format::Jsonl), &fields), expected, "jsonl {table:?}");
        assert_eq!(import_parquet(&file(Format::Parquet), &fields), expected, "parquet {table:?}");
        assert_eq!(import_sqlite(&sqlite, table.key(), &fields), expected, "sqlite {table:?}");
        file(Format::Arrow);
    }
}

#[test]
fn a_run_with_everything_comes_back_from_every_format() {
    let run = record(|writer| {
        let mut job = SteadyJob::new();
        for metric in [Metric::GpuMemoryBytes, Metric::GpuBusyPpm] {
            for (scope, name) in [(Scope::System, "GPU-a"), (Scope::Combined, "GPU-a"), (Scope::System, "=b")]
            {
                job.columns.push(Column::entity(scope, metric, EntityKind::Gpu, name));
                job.values.push(Some(u64::MAX));
            }
        }
        job.define_all(writer);
        for event in sample_events() {
            job.advance();
            writer.event(&event);
            writer.tick(job.t_ns, &job.values);
        }
        writer.event(&Event::Settle { t_ns: job.t_ns + 1, values: vec![(0, 77), (9999, 1)] });
    });
    check_round_trips(&run);
    let mut samples = Rows::default();
    Table::Samples.write(&run, &mut samples).unwrap();
    // Nine ticks, a settlement among the sample events and the one at the end.
    assert_eq!(samples.0.len(), 11);
    let last = samples.0.last().unwrap();
    assert_eq!((&last[1], &last[2]), (&Owned::Unsigned(77), &Owned::Null));
    let mut gpus = Rows::default();
    Table::Gpus.write(&run, &mut gpus).unwrap();
    assert_eq!(gpus.0.len(), 18);
}

fn hostile_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "['=+@\t\r\n\",-]{0,4}[a-z]{0,3}",
        Just("=HYPERLINK(\"x\")".to_owned()),
        Just("'".to_owned()),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let id = (1i32..4, 0u64..3).prop_map(|(pid, start_ticks)| ProcessId { pid, start_ticks });
    let kind = prop_oneof![Just(MarkKind::Begin), Just(MarkKind::End), Just(MarkKind::Point)];
    prop_oneof![
        (any::<u64>(), id.clone(), any::<i32>(), hostile_text())
            .prop_map(|(t_ns, id, parent_pid, name)| Event::ProcessStart { t_ns, id, parent_pid, name }),
        (any::<u64>(), id.clone(), hostile_text()).prop_map(|(t_ns, id, name)| Event::ProcessRename {
            t_ns,
            id,
            name
        }),
        (0u64..100, hostile_text(), kind, 0i32..2).prop_map(|(t_ns, name, kind, tid)| Event::Mark {
            t_ns,
            name,
            kind,
            pid: 1,
            tid
        }),
        (0u64..100, prop_oneof![Just(MarkKind::Begin), Just(MarkKind::End)])
            .prop_map(|(t_ns, kind)| Event::Mark { t_ns, name: "p".to_owned(), kind, pid: 1, tid: 1 }),
        (any::<u64>(), hostile_text(), hostile_text()).prop_map(|(t_ns, kind, text)| Event::Warning {
            t_ns,
            kind: kind.into(),
            text
        }),
        (any::<u64>(), id, any::<[Option<u64>; 4]>(), any::<Option<i32>>()).prop_map(
            |(t_ns, id, [cpu_ns, peak_rss_bytes, read_storage_bytes, write_storage_bytes], wait_status)| {
                Event::ProcessEnd {
                    t_ns,
                    id,
                    cpu_ns,
                    peak_rss_bytes,
                    read_storage_bytes,
                    write_storage_bytes,
                    wait_status,
                }
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_run_comes_back_from_every_format(
        names in prop::collection::vec(hostile_text(), 3),
        steps in prop::collection::vec((any::<u64>(), any::<[Option<u64>; 6]>(), event()), 0..30),
    ) {
        let run = record(|writer| {
            writer.define(&Column::of(Scope::Combined, Metric::CpuNs));
            writer.define(&Column::of(Scope::System, Metric::Load1Milli));
            for (name, kind) in names.iter().zip(EntityKind::ALL) {
                writer.define(&Column::entity(Scope::System, Metric::CoreBusyNs, kind, name));
            }
            writer.define(&Column::of(Scope::Combined, Metric::RssBytes));
            for (t_ns, values, event) in &steps {
                writer.event(event);
                writer.tick(*t_ns, values);
            }
        });
        check_round_trips(&run);
    }
}

#[test]
fn outputs_are_private_whole_and_never_overwritten_unasked() {
    use std::os::unix::fs::PermissionsExt;
    let run = record(|writer| writer.tick(1, &[]));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.csv");
    let export = |force| export_file(&run, Table::Samples, Format::Csv, &path, force);
    export(false).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(export(false), Err(RecordError::Exists { .. })));
    export(true).unwrap();
    let link = directory.path().join("link.csv");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(
        export_file(&run, Table::Samples, Format::Csv, &link, false),
        Err(RecordError::Exists { .. })
    ));
    export_file(&run, Table::Samples, Format::Csv, &link, true).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink(), "the link was replaced, not its target");
    let names: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing is left lying about: {names:?}");

    let folder = directory.path().join("tables");
    let (written, _) = export_folder(&run, &Table::ALL, Format::Jsonl, &folder, false).unwrap();
    // Without devices their tables are left out.
    assert_eq!(written.len(), 6);
    // One that is there stops all of them, before the first is written.
    written[..5].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    assert!(export_folder(&run, &Table::ALL, Format::Jsonl, &folder, false).is_err());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_damaged_run_exports_its_prefix_and_says_so() {
    let buffer = SharedBuffer::default();
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info("x")).unwrap();
    writer.define(&Column::of(Scope::Main, Metric::CpuNs));
    for t_ns in 1..=5 {
        writer.tick(t_ns, &[Some(t_ns * t_ns)]);
    }
    let mut bytes = buffer.snapshot();
    bytes.truncate(bytes.len() - 1);
    let run = Run::from_bytes(bytes).unwrap();
    let mut rows = Rows::default();
    let damage = Table::Samples.write(&run, &mut rows).unwrap();
    assert_eq!(rows.0.len(), 4);
    assert!(damage.is_some());
}
