//! What jobmeter costs.
fn main() {}
