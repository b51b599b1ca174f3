//! Plots: the same bytes every time, well-formed whatever the job is called, all panels there.

#[path = "../examples/synthetic/mod.rs"]
mod synthetic;

use jobmeter_report::plot::{self, PlotOptions, Theme};
use jobmeter_report::{Error, RunData};
use std::io::Write;
use synthetic::{Plan, hostile_names};

fn run(hostile: bool) -> RunData {
    let label = if hostile { hostile_names()[1].clone() } else { "plain".into() };
    synthetic::run(&Plan { ticks: 5_000, processes: 10, hostile, label, ..Plan::default() })
}

#[test]
fn output_is_deterministic() {
    let options = PlotOptions { width: 800, ..PlotOptions::default() };
    let (first, second) = (plot::scene(&[run(true)], &options), plot::scene(&[run(true)], &options));
    let (first, second) = (first.expect("a scene"), second.expect("a scene"));
    assert_eq!(plot::to_svg(&first), plot::to_svg(&second));
    assert_eq!(plot::to_png(&first, 1.0).expect("png"), plot::to_png(&second, 1.0).expect("png"));
}

#[test]
fn hostile_names_do_not_become_elements() {
    let svg = plot::to_svg(&plot::scene(&[run(true)], &PlotOptions::default()).expect("a scene"));
    assert!(!svg.contains("<script") && !svg.contains("<img") && !svg.contains('\u{202e}'));
    assert!(svg.contains("&lt;script&gt;"));
    // Every element that is opened is one of ours.
    for tag in svg.split('<').skip(1) {
        let name: String =
            tag.trim_start_matches('/').chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        assert!(["svg", "title", "desc", "rect", "path", "text"].contains(&name.as_str()), "<{name}");
    }
}

#[test]
fn the_picture_has_the_asked_width_and_something_on_it() {
    for (theme, width) in [(Theme::Light, 800), (Theme::Dark, 1200)] {
        let scene = plot::scene(&[run(false)], &PlotOptions { theme, width, ..PlotOptions::default() })
            .expect("a scene");
        let png = plot::to_png(&scene, 1.0).expect("png");
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(u32::from_be_bytes([png[16], png[17], png[18], png[19]]), width);
        assert!(png.len() > 20_000, "{} bytes: hardly a picture", png.len());
        let svg = plot::to_svg(&scene);
        for text in [
            "CPU, cores in use",
            "RAM",
            "GPU, share of time busy",
            "Storage of the job",
            "Network of the machine",
            "load data",
            "train",
            "best checkpoint",
            "Memory limit 12.9 GB",
        ] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert!(svg.len() < 400_000, "{} bytes", svg.len());
    }
}

#[test]
fn several_runs_share_the_charts_and_are_told_apart() {
    let mut second = run(false);
    second.label = "other".into();
    let svg = plot::to_svg(&plot::scene(&[run(false), second], &PlotOptions::default()).expect("a scene"));
    assert_eq!(svg.matches(">plain</text>").count(), 1, "each is named once");
    assert_eq!(svg.matches(">other</text>").count(), 1);
}

#[test]
fn a_dozen_runs_of_one_name_have_names_and_looks_of_their_own() {
    let runs: Vec<RunData> = (0..12)
        .map(|number| {
            let mut run = run(false);
            run.summary.run.started_unix_ns += number * 60_000_000_000;
            run
        })
        .collect();
    let options = PlotOptions { panels: Some(vec!["ram".into()]), ..PlotOptions::default() };
    let svg = plot::to_svg(&plot::scene(&runs, &options).expect("a scene"));
    let mut names: Vec<&str> = svg.split("</text>").filter_map(|part| part.rsplit('>').next()).collect();
    names.retain(|name| name.starts_with("plain "));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 12, "{names:?}");
    let looks: std::collections::BTreeSet<(&str, bool)> = svg
        .split("<path")
        .filter_map(|path| {
            Some((path.split_once("stroke=\"")?.1.split('"').next()?, path.contains("dasharray")))
        })
        .collect();
    assert!(looks.len() >= 12, "{looks:?}");
}

#[test]
fn series_are_chosen_by_name_and_bounds_left_out() {
    let of = |series: &[&str], bounds: bool| {
        let series = (!series.is_empty()).then(|| series.iter().map(|name| (*name).to_owned()).collect());
        let panels = Some(vec!["cpu".to_owned(), "ram".to_owned(), "net".to_owned()]);
        let options = PlotOptions { panels, series, bounds, ..PlotOptions::default() };
        plot::scene(&[run(false)], &options).map(|scene| plot::to_svg(&scene))
    };
    let usual = of(&[], true).expect("a scene");
    assert!(usual.contains("Memory limit") && usual.contains(">Main process, peak"));
    let chosen = of(&["MAIN", "descendants"], true).expect("a scene");
    assert!(chosen.contains(">Descendants, peak") && !chosen.contains(">Job, peak"));
    assert!(!chosen.contains("Network"), "a chart without any of the lines is left out");
    let bare = of(&[], false).expect("a scene");
    assert!(
        !bare.contains("Memory limit") && !bare.contains("Cores for the job") && bare.len() < usual.len()
    );
    let error = of(&["mian"], true).expect_err("no such line").to_string();
    assert!(error.contains("\"mian\"") && error.contains("Main process"), "{error}");
}

#[test]
fn panels_can_be_chosen_and_mistakes_are_named() {
    let only = |id: &str| PlotOptions { panels: Some(vec![id.to_owned()]), ..PlotOptions::default() };
    let svg = plot::to_svg(&plot::scene(&[run(false)], &only("psi")).expect("a scene"));
    assert!(svg.contains("Pressure") && !svg.contains("GPU RAM"));
    let error = plot::scene(&[run(false)], &only("rma")).expect_err("no such panel");
    assert!(error.to_string().contains("\"rma\"") && error.to_string().contains("ram"), "{error}");
    let narrow = PlotOptions { width: 10, ..PlotOptions::default() };
    assert!(matches!(plot::scene(&[run(false)], &narrow), Err(Error::Size { .. })));
    assert_eq!(plot::scene(&[], &PlotOptions::default()), Err(Error::NoRuns));
}

#[test]
fn a_panel_that_stayed_at_zero_is_drawn_only_when_it_is_asked_for() {
    let mut idle = run(false);
    for series in idle.series.iter_mut().filter(|series| series.column.metric.info().key.starts_with("net_"))
    {
        series
            .points
            .iter_mut()
            .flatten()
            .for_each(|point| (point.mean, point.min, point.max) = (0.0, 0.0, 0.0));
        series.peak.iter_mut().for_each(|peak| peak.value = 0.0);
    }
    let of = |panels: Option<Vec<String>>| {
        let options = PlotOptions { panels, ..PlotOptions::default() };
        plot::to_svg(&plot::scene(std::slice::from_ref(&idle), &options).expect("a scene"))
    };
    assert!(!of(None).contains("Network of the machine"));
    let asked = of(Some(vec!["net".into()]));
    assert!(asked.contains("Network of the machine") && asked.contains("zero throughout"), "{asked}");
}

#[test]
fn a_title_stands_in_for_the_heading_and_may_be_left_out() {
    let svg = |title: &str| {
        let options = PlotOptions { title: Some(title.to_owned()), ..PlotOptions::default() };
        plot::to_svg(&plot::scene(&[run(false)], &options).expect("a scene"))
    };
    assert!(svg("Figure 2 <b>").contains(">Figure 2 &lt;b&gt;</text>"));
    for title in ["Figure 2", ""] {
        assert!(!svg(title).contains("code 0 after"), "the verdict is part of the heading");
    }
    let usual = plot::scene(&[run(false)], &PlotOptions::default()).expect("a scene");
    assert!(plot::to_svg(&usual).contains("code 0 after"));
}

/// Every object lies where the table says, whatever the job is called, and a reader of PDF draws what the PNG shows.
#[test]
fn a_pdf_is_well_formed_and_is_drawn() {
    let options = PlotOptions { width: 800, ..PlotOptions::default() };
    let scene = plot::scene(&[run(true)], &options).expect("a scene");
    let pdf = plot::to_pdf(&scene);
    assert_eq!(pdf, plot::to_pdf(&scene));
    let text = std::str::from_utf8(&pdf).expect("all of it is ASCII");
    assert!(text.is_ascii() && text.starts_with("%PDF-1.4\n") && text.ends_with("%%EOF\n"));
    let table = text.rfind("\nxref\n").expect("a table") + 1;
    assert!(text.contains(&format!("startxref\n{table}\n")));
    let places = text[table..].lines().skip(3).map_while(|line| line.strip_suffix(" 00000 n "));
    let places: Vec<usize> = places.map(|place| place.parse().expect("a place")).collect();
    assert_eq!(places.len(), 5);
    for (index, place) in places.iter().enumerate() {
        assert!(text[*place..].starts_with(&format!("{} 0 obj\n", index + 1)), "{index}");
    }

    let file =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("plot-{}.pdf", std::process::id()));
    std::fs::write(&file, &pdf).expect("write");
    let drawn = std::process::Command::new("pdftoppm").args(["-r", "96"]).arg(&file).output();
    std::fs::remove_file(&file).expect("remove");
    let Ok(drawn) = drawn else {
        let _ = writeln!(std::io::stderr(), "not drawn: there is no pdftoppm (poppler-utils) here");
        return;
    };
    assert!(drawn.status.success() && drawn.stderr.is_empty(), "{}", String::from_utf8_lossy(&drawn.stderr));
    assert!(drawn.stdout.starts_with(b"P6\n800 "), "{:?}", &drawn.stdout[..20]);
    let dark = drawn.stdout.chunks(3).filter(|pixel| pixel.iter().any(|part| *part < 128)).count();
    assert!(dark > 5_000, "{dark} pixels of lines and text");
}
