//! Prints docs/metrics.md: `cargo run -p jobmeter-engine --example metrics_doc > docs/metrics.md`.

mod render;

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().lock().write_all(render::reference().as_bytes())
}
