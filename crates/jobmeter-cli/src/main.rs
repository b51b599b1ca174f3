//! The `jobmeter` command: arguments in, exit codes out. One file per subcommand under `cmd/`.

fn main() {}
