//! docs/metrics.md is what the metric table says.

#[path = "../examples/metrics_doc/render.rs"]
mod render;

use jobmeter_model::metric::TABLE;

#[test]
fn the_reference_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let page = std::fs::read_to_string(path).expect("docs/metrics.md");
    let fresh = render::reference();
    let differing = page.lines().zip(fresh.lines()).find(|(page, fresh)| page != fresh);
    assert!(
        page == fresh,
        "docs/metrics.md is stale at {differing:?}; run: cargo run -p jobmeter-engine --example metrics_doc > docs/metrics.md"
    );
    assert!(TABLE.iter().all(|row| page.contains(&format!("## {}\n", row.key))));
}
