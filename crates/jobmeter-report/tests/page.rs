//! The page as text: complete in itself, policy matching its scripts, every string of the job escaped.
//! How it looks and behaves is tested in a real browser under web/tests.

#[path = "../examples/synthetic/mod.rs"]
mod synthetic;

use jobmeter_insight::advice::{self, Outlook};
use jobmeter_insight::catalogue::{Catalogue, Filters};
use jobmeter_insight::cost::Rate;
use jobmeter_insight::units::show_money;
use jobmeter_model::{Figure, Quality};
use jobmeter_report::{AdviceBlock, html};
use synthetic::{Plan, hostile_names};

fn hostile_page(interactive: bool) -> String {
    let plan = Plan {
        hostile: true,
        label: hostile_names()[2].clone(),
        ticks: 300,
        processes: 200,
        ..Plan::default()
    };
    let runs = [synthetic::run(&plan), synthetic::run(&Plan { label: "b".into(), ..plan })];
    if interactive { html::render(&runs) } else { html::render_static(&runs) }.expect("a page")
}

#[test]
fn names_of_the_job_never_become_markup() {
    for interactive in [true, false] {
        let page = hostile_page(interactive);
        for name in hostile_names().iter().filter(|name| name.contains('<')) {
            assert!(!page.contains(name.as_str()), "{name} stands in the page as it is");
        }
        assert!(!page.contains("<img"));
        assert!(!page.contains('\u{202e}'), "a direction override reached the page");
        assert!(page.contains("\\u{202e}"), "the override is shown as an escape");
        let scripts = page.matches("<script").count();
        let expected = if interactive { 2 } else { 0 };
        assert_eq!(scripts, expected, "only our own scripts");
    }
}

#[test]
fn the_page_asks_nothing_of_any_network() {
    for interactive in [true, false] {
        // A reference into the same document, as charts saved as SVG have, reaches nothing.
        let page = hostile_page(interactive).replace("url(#", "");
        assert!(page.contains("default-src 'none'"));
        for reach in ["src=\"http", "href=\"http", "url(", "@import", "<link", "<iframe", "<object", "<form"]
        {
            assert!(!page.contains(reach), "found {reach}");
        }
        // A style attribute would be refused by the policy.
        assert!(!page.contains(" style=\""));
    }
}

#[test]
fn an_hour_at_one_second_stays_below_a_megabyte() {
    let page = html::render(&[synthetic::run(&Plan::default())]).expect("a page");
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn figures_come_first_with_their_quality() {
    let page = html::render(&[synthetic::run(&Plan { ticks: 60, processes: 3, ..Plan::default() })])
        .expect("a page");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text:?} is missing"));
    assert!(place("Succeeded") < place("Peak memory") && place("Peak memory") < place("Over time"));
    assert!(place("between 11.8 GB and 12.8 GB") > 0);
    assert!(place("the kernel was built without task accounting") > 0);
}

#[test]
fn unknown_is_a_dash_and_never_zero() {
    let mut run = synthetic::run(&Plan { ticks: 20, processes: 1, ..Plan::default() });
    let missing = jobmeter_model::Figure::unavailable("not readable here");
    run.summary.combined.set_by_key("rss_bytes_max", missing);
    let page = html::render_static(&[run]).expect("a page");
    let tile = page.split("Peak memory").nth(1).expect("the tile");
    let tile = &tile[..tile.find("</div>").expect("its end")];
    assert!(tile.contains('–') && tile.contains("not readable here") && !tile.contains(">0 "), "{tile}");
}

#[test]
fn a_run_without_ticks_and_a_run_of_one_tick_have_a_page() {
    for ticks in [0, 1] {
        let mut builder = jobmeter_report::SeriesBuilder::new(64);
        use jobmeter_model::Sink;
        builder.define(&jobmeter_model::Column::of(
            jobmeter_model::Scope::Combined,
            jobmeter_model::Metric::RssBytes,
        ));
        (0..ticks).for_each(|tick| builder.tick(tick, &[Some(5)]));
        let run = builder.finish("tiny", synthetic::summary(&Plan { ticks: 0, ..Plan::default() }));
        assert!(html::render(std::slice::from_ref(&run)).is_ok());
        assert!(html::render_static(&[run]).is_ok());
    }
    assert!(html::render(&[]).is_err());
}

/// A run of 50 minutes on a machine that others used too.
fn outlook(present: Option<&str>) -> Outlook {
    let mut summary = synthetic::summary(&Plan { gpu: false, ..Plan::default() });
    summary.run.wall_ns = Some(3_000_000_000_000);
    let figure = |value: f64| Figure::float(value, Quality::Exact);
    summary.combined.set_by_key("cores_used_mean", figure(3.1));
    summary.system.set_by_key("cores_used_mean", figure(9.0));
    let rate = present.map(|price| Rate::parse(price).expect("a price"));
    let (catalogue, wishes) = (Catalogue::embedded(), Filters::default());
    advice::outlook(&[summary], &advice::Options::default(), catalogue, &wishes, rate.as_ref())
        .expect("an outlook")
}

fn page_of(outlook: &Outlook) -> String {
    let mut run = synthetic::run(&Plan { ticks: 20, processes: 1, ..Plan::default() });
    run.advice = Some(AdviceBlock::of(outlook));
    html::render_static(&[run]).expect("a page")
}

#[test]
fn server_cost_and_allocation_are_on_the_page_with_source_and_date() {
    let outlook = outlook(Some("3.6 EUR"));
    let page = page_of(&outlook);
    let start = page.find("Server and cost").expect("the section");
    let section = &page[start..start + page[start..].find("</section>").expect("its end")];
    let offer = outlook.server.as_ref().expect("a server");
    let recommended = outlook.cost.as_ref().and_then(|cost| cost.recommended.as_ref()).expect("a cost");
    for wanted in [
        "shared with others",
        "others used the rest",
        &format!("{}/{} ({} vCPU", offer.vendor, offer.type_name, offer.vcpus),
        // This server: 3.6 an hour are 3 in 50 minutes.
        "3.60 EUR",
        "3.00 EUR",
        "3000 EUR",
        "your price",
        // The recommended one.
        &show_money(recommended.per_run, &offer.currency),
        &show_money(recommended.per_1000_runs, &offer.currency),
        &offer.source.replace('\'', "&#39;"),
        &format!("as of <bdi>{}</bdi>", offer.as_of),
        "The recommended server saves",
        "start-up, storage and traffic are not included",
    ] {
        assert!(section.contains(wanted), "{wanted:?} is missing in {section}");
    }
    assert_eq!(section.matches("scope=\"row\"").count(), 2);
}

#[test]
fn a_price_that_is_not_known_is_said_and_not_made_up() {
    let page = page_of(&outlook(None));
    let section = page.split("Server and cost").nth(1).and_then(|rest| rest.split("</section>").next());
    let section = section.expect("the section");
    assert_eq!(section.matches("scope=\"row\"").count(), 1, "only the recommended server has a price");
    assert!(section.contains("What this server costs is not known"), "{section}");
    assert!(!section.contains("saves") && section.contains(", as of "));
}

#[test]
fn where_no_server_fits_the_page_says_why_and_shows_no_price() {
    let mut none = outlook(None);
    (none.server, none.cost) = (None, None);
    none.server_missing = Some("no server fits: <b>--vram</b> is in the way".to_owned());
    let page = page_of(&none);
    assert!(page.contains("No server fits: &lt;b&gt;--vram&lt;/b&gt; is in the way"));
    assert!(!page.contains("Per 1,000 runs"));
}

#[test]
fn runs_of_one_name_are_told_apart_by_tags_then_time_then_order() {
    let named = |started_s: u64, seed: &str| {
        let mut run = synthetic::run(&Plan { ticks: 5, processes: 1, ..Plan::default() });
        run.summary.run.started_unix_ns = started_s * 1_000_000_000;
        run.summary.run.tags.insert("seed".into(), seed.into());
        run
    };
    let notes = |runs: &[jobmeter_report::RunData]| -> Vec<String> {
        let page = html::render_static(runs).expect("a page");
        let parts = page.split("<span class=\"note-of-run\"> ").skip(1);
        parts.map(|part| part[..part.find('<').expect("its end")].to_owned()).collect()
    };
    assert_eq!(notes(&[named(60, "1"), named(60, "2")]), ["seed=1", "seed=2"]);
    let times = notes(&[named(60, "1"), named(120, "1")]);
    assert_eq!(times, ["1970-01-01 00:01:00 UTC", "1970-01-01 00:02:00 UTC"]);
    assert_eq!(notes(&[named(60, "1"), named(60, "1")]), ["run 1", "run 2"]);
    let mut other = named(60, "1");
    other.label = "another".into();
    assert_eq!(notes(&[named(60, "1"), other]), Vec::<String>::new());
}

#[test]
fn a_script_given_to_a_shell_keeps_its_lines() {
    let mut run = synthetic::run(&Plan { ticks: 5, processes: 1, ..Plan::default() });
    run.summary.run.command = ["sh", "-c", "set -e\nmake <all>\n\u{7}"].map(str::to_owned).into();
    let page = html::render_static(&[run]).expect("a page");
    assert!(
        page.contains("sh -c 'set -e\nmake &lt;all&gt;\n\\u{7}'"),
        "the command is not there as it was written"
    );
}

#[test]
fn a_page_of_a_dozen_runs_can_be_mailed() {
    let plan = Plan { ticks: 5_000, processes: 100, ..Plan::default() };
    let runs: Vec<_> = (0..12).map(|_| synthetic::run(&plan)).collect();
    let page = html::render(&runs).expect("a page");
    // 0.5 MB for one alone.
    assert!(page.len() < 3_500_000, "{} bytes", page.len());
}

#[test]
fn every_script_is_in_the_page_as_it_stands() {
    let page =
        html::render(&[synthetic::run(&Plan { ticks: 5, processes: 1, ..Plan::default() })]).expect("a page");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/html/script");
    let mut found = 0;
    for entry in std::fs::read_dir(folder).expect("the scripts") {
        let path = entry.expect("a script").path();
        let script = std::fs::read_to_string(&path).expect("text");
        assert!(page.contains(&script), "{} is not in the list of assets.rs", path.display());
        assert!(!script.contains("</script"), "{} would end the element around it", path.display());
        found += 1;
    }
    assert!(found > 20, "{found} scripts");
}
