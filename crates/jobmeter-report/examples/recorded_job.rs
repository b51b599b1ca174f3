//! Writes the ranks of a made-up job as the files that jobmeter records, for the bench of merging.
//! `recorded_job RANKS SECONDS DIR` fills a store with job 4711; `JOBMETER_STORE=DIR jobmeter report job:4711` reads it.

mod synthetic;

use jobmeter_record::Store;
use std::error::Error;
use std::path::PathBuf;
use synthetic::ranks::{JobPlan, play, summary};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [ranks, seconds, directory] = &words[..] else {
        return Err("usage: recorded_job RANKS SECONDS DIR".into());
    };
    let plan = JobPlan { ranks: ranks.parse()?, ticks: seconds.parse()?, gpu: true };
    let store = Store::at(PathBuf::from(directory));
    for rank in plan.recorded() {
        let summary = summary(&plan, rank);
        let mut writer = store.create(&summary.run)?;
        play(&plan, rank, &mut writer);
        writer.finish(&summary)?;
    }
    Ok(())
}
