//! A damaged file is told from one that was only cut off, by its summary and before it is decoded.

use jobmeter_record::{DamageKind, Run};

fn bytes() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/runs/v1-phases.jobmeter");
    std::fs::read(path).expect("the fixture")
}

/// Verdict, the kinds of its warnings, and what the checksums say.
fn told(bytes: Vec<u8>) -> (String, Vec<String>, Option<DamageKind>) {
    let run = Run::from_bytes(bytes).expect("a run");
    let summary = run.told_summary();
    let kinds = summary.warnings.into_iter().map(|warning| warning.kind.to_string()).collect();
    (summary.verdict.kind.to_string(), kinds, run.find_damage().map(|damage| damage.kind))
}

#[test]
fn a_wrong_byte_among_the_ticks_is_told_by_the_stored_summary() {
    let mut bent = bytes();
    bent[5_000] ^= 1;
    let expected = ("exited".to_owned(), vec!["damaged_record".to_owned()], Some(DamageKind::Damaged));
    assert_eq!(told(bent), expected);
}

#[test]
fn a_wrong_byte_in_a_run_without_an_end_is_told_by_the_summary_of_its_ticks() {
    let mut bent = bytes();
    bent.truncate(5_800);
    bent[5_000] ^= 1;
    let kinds = vec!["no_trailer".to_owned(), "damaged_record".to_owned()];
    assert_eq!(told(bent), ("crashed".to_owned(), kinds, Some(DamageKind::Damaged)));
}

#[test]
fn bytes_behind_the_end_are_told_and_the_summary_is_still_found() {
    for garbage in [b"x".as_slice(), &[0; 100], b"JOBMETER"] {
        let longer = [bytes().as_slice(), garbage].concat();
        let expected = ("exited".to_owned(), vec!["damaged_record".to_owned()], Some(DamageKind::Damaged));
        assert_eq!(told(longer), expected);
    }
}

#[test]
fn a_file_cut_anywhere_is_unfinished_and_not_damaged() {
    let whole = bytes();
    for cut in (4_000..whole.len()).step_by(97) {
        let (_, kinds, _) = told(whole[..cut].to_vec());
        assert!(!kinds.contains(&"damaged_record".to_owned()), "cut at {cut}: {kinds:?}");
    }
}
