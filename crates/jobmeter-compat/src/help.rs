//! The help text; its usage part is also what a wrong command line is answered with.

/// The version whose interface this is.
pub const VERSION: &str = "5.0.1";

/// The usage of the command, in docopt's language.
pub const USAGE: &str = "\
Usage:
    gpu-tracker -h | --help
    gpu-tracker -v | --version
    gpu-tracker --execute=<command> [--output=<output>] [--format=<format>] [--tconfig=<config-file>] [--st=<sleep-time>] [--ru=<ram-unit>] [--gru=<gpu-ram-unit>] [--tu=<time-unit>] [--nec=<num-cores>] [--guuids=<gpu-uuids>] [--disable-logs] [--gb=<gpu-brand>] [--tf=<tracking-file>] [--overwrite]
    gpu-tracker sub-track combine --stf=<sub-track-file> -p <file-path>...
    gpu-tracker sub-track analyze --tf=<tracking-file> --stf=<sub-track-file> [--output=<output>] [--format=<format>]
    gpu-tracker sub-track compare [--output=<output>] [--format=<format>] [--cconfig=<config-file>] [-m <name>=<file-path>...] [--stat=<statistic>]
    gpu-tracker --install-command [<folder>]
    gpu-tracker --uninstall-command [<folder>]";

const ABOUT: &str = "\
Runs a command and says what it used: RAM, GPU RAM, CPU utilization, GPU utilization and compute time.";

const OPTIONS: &str = "\
Options:
    -h --help               Print this and exit.
    -v --version            Print the version of the interface and exit.
    -e --execute=<command>  The command and its arguments in one pair of quotes, such as \"ls -l -a\".
    -o --output=<output>    Write the measurements, or the analysis, to this file instead of the screen.
    -f --format=<format>    'text', 'json' or 'pickle'. Without it 'text'.
    --tconfig=<config-file> JSON file with the arguments of the Tracker class; options given here go before it.
    --st=<sleep-time>       Seconds between two measurements, at least 0.1. Without it 1.
    --ru=<ram-unit>         One of 'bytes', 'kilobytes', 'megabytes', 'gigabytes', or 'terabytes'.
    --gru=<gpu-ram-unit>    One of 'bytes', 'kilobytes', 'megabytes', 'gigabytes', or 'terabytes'.
    --tu=<time-unit>        One of 'seconds', 'minutes', 'hours', or 'days'.
    --nec=<num-cores>       Cores that the command is expected to use. Without it all cores of the machine.
    --guuids=<gpu-uuids>    UUIDs of the GPUs whose utilization counts, separated by commas. Without it all.
    --disable-logs          No warnings.
    --gb=<gpu-brand>        nvidia or amd. Without it whichever is there, NVIDIA first.
    --tf=<tracking-file>    Also write every measurement to this .csv or .sqlite file while the command runs.
    --overwrite             Replace the tracking file if it exists.
    sub-track               Work with the files of sub-tracking:
    combine                 Join the sub-tracking files of several processes into one.
    --stf=<sub-track-file>  The sub-tracking file, .csv or .sqlite (table \"data\"), with the columns process_id, code_block_name, position (0 start, 1 stop) and timestamp.
    -p <file-path>          A file to join, of the same kind as the result; a single folder stands for its files.
    analyze                 Statistics of a tracking file, overall and for each code block.
    compare                 Put the analyses (in pickle format) of several sessions side by side.
    --cconfig=<config-file> JSON file with file_path_map and statistic; options given here go before it.
    -m <name>=<file-path>   A session's name and the file with its analysis.
    --stat=<statistic>      'min', 'max', 'mean', or 'std'. Without it 'mean'.
    --install-command       Put a command gpu-tracker into the folder, or beside jobmeter; a foreign file is not replaced.
    --uninstall-command     Remove the command that --install-command has put there.";

/// The help text of the command.
pub fn help() -> String {
    format!("{ABOUT}\n\n{USAGE}\n\n{OPTIONS}")
}
