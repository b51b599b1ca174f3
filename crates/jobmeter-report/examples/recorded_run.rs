//! Writes made-up runs as the files that jobmeter records, for the benches and to look at.
//! `recorded_run run TICKS FILE` writes one long run, `recorded_run store COUNT DIR` a store of short ones.

mod synthetic;

use jobmeter_model::Sink;
use jobmeter_record::{Store, Target, Writer, id};
use std::error::Error;
use std::path::Path;
use synthetic::Plan;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", ticks, file] => one(ticks.parse()?, Path::new(file)),
        ["store", count, directory] => many(count.parse()?, Path::new(directory)),
        _ => Err("usage: recorded_run run TICKS FILE | recorded_run store COUNT DIR".into()),
    }
}

fn one(ticks: u64, file: &Path) -> Result<(), Box<dyn Error>> {
    let plan = Plan { ticks, ..Plan::default() };
    let summary = synthetic::summary(&plan);
    let mut writer = Writer::create(Target::New(file.to_owned()), &summary.run)?;
    synthetic::play(&plan, &mut writer);
    Ok(writer.finish(&summary)?)
}

fn many(count: u64, directory: &Path) -> Result<(), Box<dyn Error>> {
    let store = Store::at(directory.to_owned());
    let mut summary = synthetic::summary(&Plan { ticks: 10, ..Plan::default() });
    for number in 0..count {
        summary.run.started_unix_ns += 61_000_000_000;
        summary.run.id = id::new_run_id(summary.run.started_unix_ns);
        summary.run.name = Some(format!("train-{}", number % 7));
        let mut writer = store.create(&summary.run)?;
        writer.tick(0, &[]);
        writer.finish(&summary)?;
    }
    Ok(())
}
