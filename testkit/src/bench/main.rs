//! `make bench`: what jobmeter costs, as ratios measured in one run on one machine, printed as Markdown.
//!
//! Nothing here believes jobmeter: its CPU time is read from the CPU clock of its process, its memory from the
//! kernel's high-water mark, and the floor it is compared with is a program that does the same kernel reads.
//! Arguments choose tables (`tick wall fault hang crowd history`); without any, all these are made. `long` exports ten
//! million ticks and is made only when named. `FLOOR="io=10 stat=10"` tells
//! the floor program how often jobmeter does its slower reads.

mod crowd;
mod fault;
mod hang;
mod history;
mod machine;
mod metered;
mod table;
mod tick;
mod wall;

use std::io;

fn main() {
    if let Err(error) = run() {
        eprintln!("jobmeter-bench: {error}");
        std::process::exit(1);
    }
}

fn run() -> io::Result<()> {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|word| word == name);
    let place = metered::Place::new()?;
    machine::print(&place)?;
    if wanted("tick") {
        tick::print(&place)?;
    }
    if wanted("wall") {
        wall::print(&place)?;
    }
    if wanted("fault") {
        fault::print(&place)?;
    }
    if wanted("hang") {
        hang::print(&place)?;
    }
    if wanted("crowd") {
        crowd::print(&place)?;
    }
    if wanted("history") {
        history::print(&place)?;
    }
    if chosen.iter().any(|word| word == "long") {
        history::print_long(&place)?;
    }
    Ok(())
}
