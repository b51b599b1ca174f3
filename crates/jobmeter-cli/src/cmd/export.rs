//! `jobmeter export`: the tables of a run for other programs.

use super::busy::Busy;
use super::phases_from::PhasesFromArgs;
use crate::say::{say, shown};
use jobmeter_compat::layout::{Layout, export_layout, write_layout};
use jobmeter_record::export::{Format, export_file, export_folder, export_sqlite, write_table};
use jobmeter_record::table::Table;
use jobmeter_record::{Damage, RecordError, Run, text};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Tables: samples, processes, phases, spans, marks, warnings, cores, disks, mounts, networks, \
gpus.
One table goes to a file or to standard output, several go to a folder; SQLite takes all into one file.

Examples:
  jobmeter export last -f csv > samples.csv
  jobmeter export last -f parquet --table all -o run/
  jobmeter export name:train -f sqlite -o run.sqlite"
)]
pub(crate) struct ExportArgs {
    /// The run: a path, last, last~2, the beginning of an id, name:NAME or job:ID; of a set the newest
    #[arg(value_name = "RUN")]
    run: String,
    /// csv, jsonl, parquet, sqlite or arrow; otherwise told by the end of the output's name
    #[arg(short, long, value_name = "FORMAT", conflicts_with = "layout")]
    format: Option<String>,
    /// Which table, or `all`; may be given several times (samples; all for SQLite)
    #[arg(short, long, value_name = "TABLE", conflicts_with = "layout")]
    table: Vec<String>,
    /// The file or folder to write; `-` is standard output
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Write another tracker's CSV: gpu-tracker or resource-tracker
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<String>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    phases: PhasesFromArgs,
}

pub(crate) fn main(args: ExportArgs) -> Result<u8, String> {
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    // The answer to a bad option comes before any file is looked for.
    let plan = plan(&args, output)?;
    let (run, _) = super::load::one_of_set(&args.run)?;
    let phases = args.phases.read()?;
    let run = phases.attach(run);
    phases.finish()?;
    let busy = output.map(|path| Busy::new(&format!("exporting to {}", shown(path))));
    let passes = plan.passes(&run);
    let run = match &busy {
        Some(busy) => run.watched(busy.progress(), passes),
        None => run,
    };
    let done = carry_out(&run, &plan, output, args.force);
    drop(busy);
    match done {
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if output.is_none() && error.io_kind() == Some(ErrorKind::BrokenPipe) => Ok(0),
        Err(error) => Err(error.to_string()),
        Ok((files, damage)) => {
            damage.iter().for_each(|damage| say(&format!("jobmeter: {damage}")));
            output.into_iter().for_each(|output| tell(&plan, output, &files));
            Ok(0)
        }
    }
}

/// Says what was written and where: into `output`, a file or a folder.
fn tell(plan: &Plan, output: &Path, files: &[PathBuf]) {
    let tables = match plan {
        Plan::Layout(_) => 1,
        Plan::Tables(_, tables) if files.len() == 1 => tables.len(),
        Plan::Tables(..) => files.len(),
    };
    let what = if tables == 1 { "1 table".to_owned() } else { format!("{tables} tables") };
    // A pipe or a device has no size to speak of.
    let sizes: Option<u64> = files
        .iter()
        .map(|path| std::fs::metadata(path).ok().filter(|file| file.is_file()))
        .map(|file| Some(file?.len()))
        .sum();
    sizes.into_iter().for_each(|bytes| super::drawn::tell(output, &what, bytes as usize));
}

enum Plan {
    Layout(Layout),
    Tables(Format, Vec<Table>),
}

impl Plan {
    /// How often the run will be read, for the percentage.
    fn passes(&self, run: &Run) -> u64 {
        match self {
            Plan::Layout(_) => 1,
            Plan::Tables(_, tables) => tables.iter().filter(|table| table.is_read(run)).count() as u64,
        }
    }
}

fn plan(args: &ExportArgs, output: Option<&Path>) -> Result<Plan, String> {
    if let Some(layout) = &args.layout {
        let known = Layout::from_key(layout).map(Plan::Layout);
        return known.ok_or_else(|| wrong("layout", layout, "gpu-tracker or resource-tracker"));
    }
    let extension = output.and_then(Path::extension).and_then(|extension| extension.to_str());
    let format = match (&args.format, extension.and_then(Format::from_key)) {
        (Some(format), _) => Format::from_key(format)
            .ok_or_else(|| wrong("format", format, "csv, jsonl, parquet, sqlite or arrow"))?,
        (None, Some(format)) => format,
        (None, None) => Format::Csv,
    };
    let mut tables = Vec::new();
    for name in &args.table {
        match Table::from_key(name) {
            Some(table) => tables.push(table),
            None if name == "all" => tables.extend(Table::ALL),
            None => return Err(wrong("table", name, "samples, processes, phases … or all (see --help)")),
        }
    }
    match (tables.is_empty(), format) {
        (true, Format::Sqlite) => tables.extend(Table::ALL),
        (true, _) => tables.push(Table::Samples),
        _ => {}
    }
    if output.is_none() && !format.is_text() {
        return Err(format!("{} is not for a terminal; name a file with -o", format.key()));
    }
    if output.is_none() && tables.len() > 1 {
        return Err("several tables need a folder; name one with -o".to_owned());
    }
    Ok(Plan::Tables(format, tables))
}

fn wrong(what: &str, given: &str, right: &str) -> String {
    format!("'{}' is no {what}; write {right}", text::printable(given))
}

fn carry_out(
    run: &Run,
    plan: &Plan,
    output: Option<&Path>,
    force: bool,
) -> Result<(Vec<PathBuf>, Option<Damage>), RecordError> {
    let stdout_name = Path::new("standard output");
    let damage = match (plan, output) {
        (Plan::Layout(layout), Some(path)) => export_layout(run, *layout, path, force),
        (Plan::Layout(layout), None) => write_layout(run, *layout, std::io::stdout().lock(), stdout_name),
        (Plan::Tables(Format::Sqlite, tables), Some(path)) => export_sqlite(run, tables, path, force),
        (Plan::Tables(format, tables), output) => match (tables.as_slice(), output) {
            ([table], None) => write_table(run, *table, *format, std::io::stdout(), stdout_name),
            ([table], Some(path)) if !path.is_dir() => export_file(run, *table, *format, path, force),
            (tables, path) => {
                return export_folder(run, tables, *format, path.unwrap_or(Path::new(".")), force);
            }
        },
    };
    Ok((output.map(Path::to_owned).into_iter().collect(), damage?))
}
