//! The command line: long options by any unambiguous beginning, values behind `=` or as the next word, short
//! options with the value attached or as the next word, each option once but for `-p` and `-m`.

use super::settings::TrackOptions;
use crate::error::CompatError;
use crate::output::{Destination, Format};
use std::path::PathBuf;

/// What is asked for.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// The bare command by choice, in this folder or beside the program.
    InstallCommand(Option<PathBuf>),
    /// Remove the command that was installed as gpu-tracker, from this folder.
    UninstallCommand(Option<PathBuf>),
    /// Run a command under the tracker.
    Track {
        /// The command, as one text.
        command: String,
        /// Where the result goes.
        destination: Destination,
        /// How it is tracked.
        options: TrackOptions,
    },
    /// Put several sub-tracking files into one.
    Combine {
        /// The file to write.
        target: PathBuf,
        /// The files to read.
        files: Vec<PathBuf>,
    },
    /// Say what code blocks used.
    Analyze {
        /// The tracking file.
        tracking: PathBuf,
        /// The sub-tracking file.
        sub_tracking: PathBuf,
        /// Where the result goes.
        destination: Destination,
    },
    /// Compare the results of several analyses.
    Compare {
        /// The file that names them.
        config: Option<PathBuf>,
        /// `NAME=PATH` as written.
        sessions: Vec<String>,
        /// Which statistic is compared.
        statistic: Option<String>,
        /// Where the result goes.
        destination: Destination,
    },
}

/// Long name, short name, whether a value follows.
const OPTIONS: &[(&str, &str, bool)] = &[
    ("--help", "-h", false),
    ("--version", "-v", false),
    ("--install-command", "", false),
    ("--uninstall-command", "", false),
    ("--execute", "-e", true),
    ("--output", "-o", true),
    ("--format", "-f", true),
    ("--tconfig", "", true),
    ("--st", "", true),
    ("--ru", "", true),
    ("--gru", "", true),
    ("--tu", "", true),
    ("--nec", "", true),
    ("--guuids", "", true),
    ("--disable-logs", "", false),
    ("--gb", "", true),
    ("--tf", "", true),
    ("--overwrite", "", false),
    ("--stf", "", true),
    ("", "-p", true),
    ("--cconfig", "", true),
    ("", "-m", true),
    ("--stat", "", true),
];

const TRACK: &[&str] = &[
    "--execute",
    "--output",
    "--format",
    "--tconfig",
    "--st",
    "--ru",
    "--gru",
    "--tu",
    "--nec",
    "--guuids",
    "--disable-logs",
    "--gb",
    "--tf",
    "--overwrite",
];
const COMBINE: &[&str] = &["--stf", "-p"];
const ANALYZE: &[&str] = &["--tf", "--stf", "--output", "--format"];
const COMPARE: &[&str] = &["--output", "--format", "--cconfig", "-m", "--stat"];

/// Reads the arguments behind the command's name.
pub fn parse(words: &[String]) -> Result<Request, CompatError> {
    let mut given = Given::read(words)?;
    if given.has("--help") {
        return Ok(Request::Help);
    }
    if given.has("--version") {
        return Ok(Request::Version);
    }
    for (name, request) in [
        ("--install-command", Request::InstallCommand as fn(Option<PathBuf>) -> Request),
        ("--uninstall-command", Request::UninstallCommand),
    ] {
        if given.has(name) {
            given.only(&[name])?;
            return match given.positional.as_slice() {
                [] => Ok(request(None)),
                [folder] => Ok(request(Some(folder.into()))),
                _ => Err(CompatError::Usage(None)),
            };
        }
    }
    let positional: Vec<&str> = given.positional.iter().map(String::as_str).collect();
    match positional.as_slice() {
        [] => {
            given.only(TRACK)?;
            let command = given.required("--execute")?;
            Ok(Request::Track { command, destination: given.destination()?, options: given.track_options() })
        }
        ["sub-track", "combine"] => {
            given.only(COMBINE)?;
            let target = given.required("--stf")?.into();
            let files: Vec<PathBuf> = given.all("-p").into_iter().map(PathBuf::from).collect();
            if files.is_empty() {
                return Err(CompatError::Usage(None));
            }
            Ok(Request::Combine { target, files })
        }
        ["sub-track", "analyze"] => {
            given.only(ANALYZE)?;
            Ok(Request::Analyze {
                tracking: given.required("--tf")?.into(),
                sub_tracking: given.required("--stf")?.into(),
                destination: given.destination()?,
            })
        }
        ["sub-track", "compare"] => {
            given.only(COMPARE)?;
            Ok(Request::Compare {
                config: given.take("--cconfig").map(PathBuf::from),
                sessions: given.all("-m"),
                statistic: given.take("--stat"),
                destination: given.destination()?,
            })
        }
        _ => Err(CompatError::Usage(None)),
    }
}

#[derive(Default)]
struct Given {
    options: Vec<(&'static str, String)>,
    positional: Vec<String>,
}

impl Given {
    fn read(words: &[String]) -> Result<Given, CompatError> {
        let mut given = Given::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word.starts_with("--") && word.len() > 2 {
                given.long(word, &mut words)?;
            } else if word.starts_with('-') && word.len() > 1 && word != "--" {
                given.short(word, &mut words)?;
            } else if word != "--" {
                given.positional.push(word.clone());
            }
        }
        Ok(given)
    }

    fn long<'a>(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), CompatError> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let exact = OPTIONS.iter().find(|option| option.0 == name);
        let (long, _, takes_value) = match exact {
            Some(option) => option,
            None => {
                let similar: Vec<_> = OPTIONS.iter().filter(|option| option.0.starts_with(name)).collect();
                match similar.as_slice() {
                    [] => return Err(CompatError::Usage(None)),
                    &[option] => option,
                    several => {
                        let names: Vec<&str> = several.iter().map(|option| option.0).collect();
                        let text = format!("{name} is not a unique prefix: {}?", names.join(", "));
                        return Err(CompatError::Usage(Some(text)));
                    }
                }
            }
        };
        let value = match (takes_value, attached) {
            (true, Some(value)) => value,
            (true, None) => match rest.next() {
                Some(value) if value != "--" => value.clone(),
                _ => return Err(CompatError::Usage(Some(format!("{long} requires argument")))),
            },
            (false, None) => String::new(),
            (false, Some(_)) => {
                return Err(CompatError::Usage(Some(format!("{long} must not have an argument"))));
            }
        };
        self.options.push((long, value));
        Ok(())
    }

    /// `-e true`, `-etrue`; flags may be joined in front.
    fn short<'a>(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), CompatError> {
        for (index, letter) in word.char_indices().skip(1) {
            let short = format!("-{letter}");
            let Some((long, short, takes_value)) = OPTIONS.iter().find(|option| option.1 == short) else {
                return Err(CompatError::Usage(None));
            };
            let name = if long.is_empty() { short } else { long };
            if !takes_value {
                self.options.push((name, String::new()));
                continue;
            }
            let attached = &word[index + letter.len_utf8()..];
            let value = match attached {
                "" => match rest.next() {
                    Some(value) if value != "--" => value.clone(),
                    _ => return Err(CompatError::Usage(Some(format!("{short} requires argument")))),
                },
                attached => attached.to_owned(),
            };
            self.options.push((name, value));
            return Ok(());
        }
        Ok(())
    }

    fn only(&self, allowed: &[&str]) -> Result<(), CompatError> {
        for (index, (name, _)) in self.options.iter().enumerate() {
            let is_repeated = self.options[..index].iter().any(|(earlier, _)| earlier == name);
            let may_repeat = matches!(*name, "-p" | "-m");
            if !allowed.contains(name) || (is_repeated && !may_repeat) {
                return Err(CompatError::Usage(None));
            }
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(known, _)| *known == name)
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let place = self.options.iter().position(|(known, _)| *known == name)?;
        Some(self.options.remove(place).1)
    }

    fn required(&mut self, name: &str) -> Result<String, CompatError> {
        self.take(name).ok_or(CompatError::Usage(None))
    }

    fn all(&mut self, name: &str) -> Vec<String> {
        std::iter::from_fn(|| self.take(name)).collect()
    }

    fn destination(&mut self) -> Result<Destination, CompatError> {
        let format = self.take("--format").map_or(Ok(Format::Text), |text| Format::parse(&text))?;
        Ok(Destination { path: self.take("--output").map(PathBuf::from), format })
    }

    fn track_options(&mut self) -> TrackOptions {
        TrackOptions {
            config: self.take("--tconfig").map(PathBuf::from),
            sleep_time: self.take("--st"),
            ram_unit: self.take("--ru"),
            gpu_ram_unit: self.take("--gru"),
            time_unit: self.take("--tu"),
            n_expected_cores: self.take("--nec"),
            gpu_uuids: self.take("--guuids"),
            disable_logs: self.take("--disable-logs").is_some(),
            gpu_brand: self.take("--gb"),
            tracking_file: self.take("--tf").map(PathBuf::from),
            overwrite: self.take("--overwrite").is_some(),
        }
    }
}

/// Splits a command: by white space, and as a shell would where it has balanced quotes or backslashes.
pub fn split_command(text: &str, shell_split: impl Fn(&str) -> Option<Vec<String>>) -> Vec<String> {
    let plain = || text.split_whitespace().map(str::to_owned).collect();
    if text.contains(['"', '\'', '\\']) { shell_split(text).unwrap_or_else(plain) } else { plain() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Request, CompatError> {
        parse(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn values_stand_behind_an_equals_sign_or_alone() {
        for words in
            [&["-e", "true", "--st=0.3"][..], &["-etrue", "--st", "0.3"], &["--exec=true", "--st", "0.3"]]
        {
            let Ok(Request::Track { command, options, .. }) = parsed(words) else { panic!("{words:?}") };
            assert_eq!((command.as_str(), options.sleep_time.as_deref()), ("true", Some("0.3")));
        }
    }

    #[test]
    fn what_matches_no_usage_is_refused() {
        for words in [
            &[][..],
            &["-x"],
            &["-e"],
            &["-e", "a", "-e", "b"],
            &["-e", "a", "extra"],
            &["-e", "a", "--stf=x"],
            &["-e", "a", "--s=1"],
            &["-e", "a", "--overwrite=1"],
            &["sub-track"],
            &["sub-track", "combine", "--stf=x"],
            &["sub-track", "analyze", "--stf=x"],
        ] {
            assert!(matches!(parsed(words), Err(CompatError::Usage(_))), "{words:?}");
        }
    }

    #[test]
    fn sub_track_takes_repeated_options() {
        let Ok(Request::Combine { files, .. }) =
            parsed(&["sub-track", "combine", "--stf=all.csv", "-p", "a.csv", "-pb.csv"])
        else {
            panic!("refused")
        };
        assert_eq!(files, [PathBuf::from("a.csv"), PathBuf::from("b.csv")]);
        assert!(matches!(parsed(&["sub-track", "compare"]), Ok(Request::Compare { .. })));
    }

    #[test]
    fn commands_split_by_space_and_by_quotes() {
        let never = |_: &str| -> Option<Vec<String>> { None };
        assert_eq!(split_command(" ls  -l # x", never), ["ls", "-l", "#", "x"]);
        assert_eq!(split_command("echo don't", never), ["echo", "don't"]);
    }
}
