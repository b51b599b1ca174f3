//! One sweep: the calls of a run without faults, then a run for each fault.

use crate::bench::{Bench, Seen};
use crate::verdict::Account;
use jobmeter_testkit::fault::Fault;
use jobmeter_testkit::fault::plan::{Depth, faults};
use std::fs;

/// Sweeps what `case` runs; `judge` says whether the job ran or what is wrong.
pub(crate) fn sweep(
    bench: &Bench,
    depth: Depth,
    case: impl Fn(Option<&Fault>) -> Seen,
    judge: impl Fn(&Seen, Option<&Fault>) -> Result<bool, String>,
) -> Account {
    assert_eq!(judge(&case(None), None), Ok(true), "without any fault");
    let report = fs::read_to_string(bench.path("report")).expect("the list of calls");
    let mut account = Account::default();
    for fault in faults(&report, depth) {
        let seen = case(Some(&fault));
        let Some(struck) = bench.struck() else {
            account.not_reached();
            continue;
        };
        let name = format!("{} (about {struck})", fault.words());
        let group = format!("{} {}", fault.who.name(), fault.call);
        account.add(&group, &name, judge(&seen, Some(&fault)));
    }
    account
}
