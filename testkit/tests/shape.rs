//! The shape of the sources: small files with one idea, and no struct of many fields without a reason beside it.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const LONGEST_FILE: usize = 500;
const MEDIAN_FILE: usize = 150;
const MOST_FIELDS: usize = 20;

/// Code below `folder`; what was built or installed there is none.
fn code(folder: &Path, found: &mut Vec<PathBuf>) {
    const CODE: [&str; 7] = ["rs", "py", "pyi", "js", "mjs", "R", "sh"];
    const OTHERS: [&str; 6] = ["target", "node_modules", ".venv", "dist", "release", ".git"];
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if entry.is_dir() && !OTHERS.contains(&name) && !name.starts_with('.') {
            code(&entry, found);
        } else if entry.extension().and_then(|end| end.to_str()).is_some_and(|end| CODE.contains(&end)) {
            found.push(entry);
        }
    }
}

fn all_code() -> Vec<(PathBuf, String)> {
    let mut paths = Vec::new();
    for room in ["crates", "testkit", "fuzz", "python", "r", "tools", "web", "packaging"] {
        code(&Path::new(ROOT).join(room), &mut paths);
    }
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("UTF-8"))).collect()
}

#[test]
fn files_are_short() {
    let files = all_code();
    assert!(files.len() > 500, "only {} files were found", files.len());
    let long: Vec<String> = files
        .iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(path, lines)| format!("{} has {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "more than {LONGEST_FILE}: {}", long.join(", "));
    let mut lengths: Vec<usize> = files.iter().map(|(_, text)| text.lines().count()).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= MEDIAN_FILE, "half of the files have more than {median} lines");
}

/// The name and the number of fields of each struct with named fields, and whether a comment stands above it.
fn structs(text: &str) -> Vec<(String, usize, bool)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim().strip_suffix('{').unwrap_or_default();
        let Some((_, name)) = words
            .split_once("struct ")
            .filter(|(before, _)| before.is_empty() || (before.starts_with("pub") && before.ends_with(' ')))
        else {
            continue;
        };
        let is_field = |line: &&&str| {
            let inner = line.trim_start();
            let name = inner.split(':').next().unwrap_or_default().rsplit(' ').next().unwrap_or_default();
            line.len() - inner.len() == indent + 4
                && !inner.starts_with(['/', '#'])
                && inner.contains(": ")
                && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        let end = format!("{}}}", " ".repeat(indent));
        let fields = lines[at + 1..].iter().take_while(|line| **line != end).filter(is_field).count();
        let above = lines[..at].iter().rev().find(|line| !line.trim_start().starts_with("#["));
        let has_reason = above.is_some_and(|line| line.trim_start().starts_with("//"));
        found.push((name.trim().to_owned(), fields, has_reason));
    }
    found
}

#[test]
fn a_struct_of_many_fields_says_why() {
    let mut counted = 0;
    for (path, text) in all_code().iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "rs"))
    {
        for (name, fields, has_reason) in structs(text) {
            counted += 1;
            let is_fine = fields <= MOST_FIELDS || has_reason;
            assert!(is_fine, "{}: {name} has {fields} fields and no reason above it", path.display());
        }
    }
    assert!(counted > 500, "only {counted} structs were found");
}

#[test]
fn fields_are_counted() {
    let text = "/// Why.\n#[derive(Debug)]\npub(crate) struct A {\n    /// x: y\n    pub a: u8,\n    b: Vec<(A, B)>,\n}\nstruct B {\n    a: u8,\n}\nstruct C(u8);\n";
    assert_eq!(structs(text), [("A".to_owned(), 2, true), ("B".to_owned(), 1, false)]);
}
