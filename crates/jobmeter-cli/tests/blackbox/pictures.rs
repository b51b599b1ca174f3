//! `jobmeter plot` and `jobmeter report` as a user calls them: the files they make, what they refuse, and that
//! nothing hostile in a run gets out of its place.

use crate::help::{JOBMETER, Room, Run, testkit};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const HOSTILE: &str = "</script><script>window.pwned=1</script>\"'&\u{202e}x";

fn recorded(room: &Room, name: &str) {
    let script = format!(
        "'{JOBMETER}' mark --begin 'work <b>&'; '{0}' burn 60; '{JOBMETER}' mark --end 'work <b>&'; \
         '{JOBMETER}' mark done",
        testkit().display()
    );
    let run = room.run(&["-i", "5ms", "--name", name, "--tag", "k=<i>"], &["sh", "-c", &script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

fn call(room: &Room, arguments: &[&str]) -> Run {
    room.finish(room.jobmeter(arguments))
}

fn made(room: &Room, arguments: &[&str], output: &str) -> Vec<u8> {
    let path = room.file(output);
    let run = call(room, &[arguments, &["-o", &path]].concat());
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    assert!(run.stdout.is_empty(), "{arguments:?}");
    let mode = fs::metadata(&path).expect("the file").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "what a job did is its user's business");
    fs::read(&path).expect("the file")
}

fn made_text(room: &Room, arguments: &[&str], output: &str) -> String {
    String::from_utf8(made(room, arguments, output)).expect("UTF-8")
}

/// Width and height from the header of a PNG.
fn png_size(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "no PNG");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

#[test]
fn plots_are_drawn_in_both_formats_and_themes() {
    let room = Room::new("plot");
    recorded(&room, "one");
    for theme in ["light", "dark"] {
        let svg = made_text(&room, &["plot", "last", "--theme", theme], &format!("{theme}.svg"));
        let document = roxmltree::Document::parse(&svg).expect("well-formed XML");
        assert_eq!(document.root_element().tag_name().name(), "svg");
        let text: String = document.descendants().filter_map(|node| node.text()).collect();
        for word in ["CPU, cores in use", "RAM", "Storage of the job", "work <b>&", "done", "one"] {
            assert!(text.contains(word), "no {word}: {text}");
        }
        let png = made(&room, &["plot", "last", "--theme", theme, "--width", "800"], &format!("{theme}.png"));
        assert_eq!(png_size(&png).0, 800);
        assert!(png.len() > 10_000, "{} bytes: hardly a picture", png.len());
    }
    assert_ne!(room.text("light.svg"), room.text("dark.svg"));
    let sharp = made(&room, &["plot", "last", "--width", "800", "--scale", "2"], "sharp.png");
    assert_eq!(png_size(&sharp).0, 1600);
    let only = made_text(&room, &["plot", "last", "--metrics", "ram"], "only.svg");
    assert!(only.contains("RAM") && !only.contains("CPU, cores in use"));
}

#[test]
fn several_runs_are_overlaid_and_compared() {
    let room = Room::new("plot-several");
    recorded(&room, "before");
    recorded(&room, HOSTILE);
    let svg = made_text(&room, &["plot", "name:before", "last"], "both.svg");
    roxmltree::Document::parse(&svg).expect("well-formed XML");
    assert_eq!(svg.matches(">before</text>").count(), 1, "each run is named once, above the charts: {svg}");
    assert!(!svg.contains("<script"), "{svg}");
    for (extra, name) in [(&["--static"][..], "static.html"), (&[], "page.html")] {
        let page = made_text(&room, &[&["report", "last~1", "last"], extra].concat(), name);
        assert!(page.contains("id=\"run-0\"") && page.contains("id=\"run-1\""), "two runs");
        assert!(!page.contains("<script>window") && !page.contains('\u{202e}'), "hostile text got out");
    }
}

#[test]
fn the_page_is_whole_with_and_without_scripts() {
    let room = Room::new("report");
    recorded(&room, HOSTILE);
    let drawn = made_text(&room, &["report", "last", "--static"], "static.html");
    assert!(drawn.contains("<svg") && !drawn.contains("<script"), "drawings and no script");
    let path = room.file("page.html");
    let run = call(&room, &["report", "last", "-o", &path]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let page = room.text("page.html");
    assert!(
        page.contains("data-panel=\"cpu\"") && page.contains("<script"),
        "the whole page, however it was built"
    );
    for page in [&drawn, &page] {
        assert!(page.contains("Content-Security-Policy") && page.contains("default-src 'none'"));
        // The name of SVG's namespace is a name, not an address that is asked.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains("http://") && !page.contains("https://"), "nothing may be asked of a network");
        assert!(page.contains("work &lt;b&gt;&amp;") && page.contains("Peak memory"));
        assert!(!page.contains("<script>window") && !page.contains('\u{202e}'));
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
    }
}

#[test]
fn files_are_overwritten_only_when_asked_and_mistakes_are_named() {
    let room = Room::new("pictures-refuse");
    recorded(&room, "one");
    let mine = room.file("mine.svg");
    let page = room.file("mine.html");
    for (command, path) in [("plot", &mine), ("report", &page)] {
        fs::write(path, "mine").expect("a file");
        let refused = call(&room, &[command, "last", "-o", path]);
        assert_eq!(refused.code, 125);
        assert!(refused.stderr.contains("exists already"), "{}", refused.stderr);
        assert_eq!(fs::read_to_string(path).expect("still there"), "mine");
        assert_eq!(call(&room, &[command, "last", "--force", "-o", path]).code, 0);
        assert_ne!(fs::read_to_string(path).expect("written"), "mine");
    }
    for (arguments, part) in [
        (&["plot", "last", "-o", "x.gif"][..], "end the name in .svg, .png or .pdf"),
        (&["plot", "last", "-o", "x.svg", "--metrics", "rma"], "rma"),
        (&["plot", "nobody", "-o", "x.svg"], "no stored run fits"),
        (&["plot", "last", "-o", "no/such/folder/x.svg"], "cannot write"),
        (&["report", "last~9", "-o", "x.html"], "not so many"),
    ] {
        let mut command = room.jobmeter(arguments);
        command.current_dir(&room.dir);
        let run = room.finish(command);
        assert_eq!(run.code, 125, "{arguments:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(part) && run.stderr.lines().count() == 1,
            "{arguments:?}: {}",
            run.stderr
        );
        assert!(!room.path("x.svg").exists() && !room.path("x.html").exists());
    }
}
