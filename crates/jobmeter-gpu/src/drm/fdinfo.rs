//! `/proc/PID/fdinfo/N` of a DRM descriptor: the common keys of the kernel's DRM client usage statistics,
//! as amdgpu, i915, xe and others print them.

/// Busy time of one engine class, in the unit that the driver counts in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Engine {
    pub(super) class: String,
    pub(super) busy: Busy,
    /// Engines of this class; the counters are their sum.
    pub(super) capacity: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Busy {
    Nanos(u64),
    /// Busy cycles and cycles that have passed (xe).
    Cycles(u64, u64),
}

impl Default for Busy {
    fn default() -> Busy {
        Busy::Nanos(0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ClientInfo {
    pub(super) driver: String,
    pub(super) pdev: String,
    pub(super) client_id: u64,
    pub(super) engines: Vec<Engine>,
    /// Device memory; on a GPU without its own, the system memory that it holds. `None`: no key tells.
    pub(super) memory_bytes: Option<u64>,
}

/// `None` when the text is not of a DRM client.
pub(super) fn parse(text: &str) -> Option<ClientInfo> {
    let mut info = ClientInfo::default();
    let mut client_id = None;
    let mut regions: Vec<Region<'_>> = Vec::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        let Some(key) = key.strip_prefix("drm-") else { continue };
        if key == "driver" {
            info.driver = value.to_owned();
        } else if key == "pdev" {
            info.pdev = value.to_owned();
        } else if key == "client-id" {
            client_id = value.parse().ok();
        } else if let Some(class) = key.strip_prefix("engine-capacity-") {
            engine(&mut info.engines, class).capacity = number(value).unwrap_or(1).max(1);
        } else if let Some(class) = key.strip_prefix("engine-") {
            if let Some(ns) = number(value) {
                engine(&mut info.engines, class).busy = Busy::Nanos(ns);
            }
        } else if let Some(class) = key.strip_prefix("total-cycles-") {
            let entry = engine(&mut info.engines, class);
            let busy = if let Busy::Cycles(busy, _) = entry.busy { busy } else { 0 };
            entry.busy = Busy::Cycles(busy, number(value).unwrap_or(0));
        } else if let Some(class) = key.strip_prefix("cycles-") {
            let entry = engine(&mut info.engines, class);
            let total = if let Busy::Cycles(_, total) = entry.busy { total } else { 0 };
            entry.busy = Busy::Cycles(number(value).unwrap_or(0), total);
        } else {
            region(&mut regions, key, value);
        }
    }
    info.client_id = client_id?;
    info.memory_bytes = device_memory(&regions);
    Some(info)
}

fn engine<'a>(engines: &'a mut Vec<Engine>, class: &str) -> &'a mut Engine {
    let place = engines.iter().position(|engine| engine.class == class).unwrap_or_else(|| {
        engines.push(Engine { class: class.to_owned(), busy: Busy::default(), capacity: 1 });
        engines.len() - 1
    });
    &mut engines[place]
}

/// What the keys say of one memory region. Backed by pages now (`resident`, in older kernels `memory`) is
/// what we want; `total` includes what was never touched.
struct Region<'a> {
    name: &'a str,
    resident: Option<u64>,
    memory: Option<u64>,
    total: Option<u64>,
}

fn region<'a>(regions: &mut Vec<Region<'a>>, key: &'a str, value: &str) {
    let Some((what, name)) = key.split_once('-') else { return };
    if !matches!(what, "resident" | "memory" | "total") {
        return;
    }
    let Some(bytes) = size(value) else { return };
    let place = regions.iter().position(|region| region.name == name).unwrap_or_else(|| {
        regions.push(Region { name, resident: None, memory: None, total: None });
        regions.len() - 1
    });
    let region = &mut regions[place];
    match what {
        "resident" => region.resident = Some(bytes),
        "memory" => region.memory = Some(bytes),
        _ => region.total = Some(bytes),
    }
}

fn device_memory(regions: &[Region<'_>]) -> Option<u64> {
    let own = |region: &&Region<'_>| region.name.starts_with("vram") || region.name.starts_with("local");
    let bytes = |region: &Region<'_>| region.resident.or(region.memory).or(region.total).unwrap_or(0);
    if regions.iter().any(|region| own(&region)) {
        return Some(regions.iter().filter(own).map(bytes).sum());
    }
    (!regions.is_empty()).then(|| regions.iter().map(bytes).sum())
}

fn number(value: &str) -> Option<u64> {
    value.split_ascii_whitespace().next()?.parse().ok()
}

/// `4096`, `12 KiB`, `3 MiB`.
fn size(value: &str) -> Option<u64> {
    let mut parts = value.split_ascii_whitespace();
    let amount: u64 = parts.next()?.parse().ok()?;
    let unit = match parts.next() {
        None => 1,
        Some("KiB") => 1 << 10,
        Some("MiB") => 1 << 20,
        Some("GiB") => 1 << 30,
        Some(_) => return None,
    };
    amount.checked_mul(unit)
}

#[cfg(test)]
#[path = "fdinfo_tests.rs"]
mod tests;
