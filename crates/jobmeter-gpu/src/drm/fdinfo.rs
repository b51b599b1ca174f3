//! `/proc/PID/fdinfo/N` of a DRM descriptor: the common keys of the kernel's DRM client usage statistics,
//! as amdgpu, i915, xe, panfrost and others print them, and those of amdgpu before Linux 5.19.

/// Busy time of one engine class, in the unit that the driver counts in.
#[derive(Debug, Clone, PartialEq, Eq)]
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ClientInfo {
    pub(super) driver: String,
    pub(super) pdev: String,
    /// `None`: the descriptor does not say which client it belongs to, so it cannot be counted once.
    pub(super) client: Option<ClientId>,
    /// Classes whose busy time is told. None at all: the client's use is unknown.
    pub(super) engines: Vec<Engine>,
    /// Device memory; on a GPU without its own, the system memory that it holds. `None`: no key tells.
    pub(super) memory_bytes: Option<u64>,
    /// System memory that the GPU maps.
    pub(super) gtt_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ClientId {
    Client(u64),
    /// The address space of a client, by which amdgpu before Linux 5.19 tells them apart.
    Pasid(u64),
}

/// What the lines say of an engine class.
#[derive(Default)]
struct Class<'a> {
    name: &'a str,
    busy_ns: Option<u64>,
    cycles: Option<u64>,
    total_cycles: Option<u64>,
    capacity: Option<u64>,
}

/// `None` when the text is not of a DRM client.
pub(super) fn parse(text: &str) -> Option<ClientInfo> {
    let mut info = ClientInfo::default();
    let mut classes: Vec<Class<'_>> = Vec::new();
    let mut regions: Vec<Region<'_>> = Vec::new();
    let mut is_drm = false;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        let Some(key) = key.strip_prefix("drm-") else { continue };
        is_drm = true;
        if key == "driver" {
            info.driver = value.to_owned();
        } else if key == "pdev" {
            info.pdev = value.to_owned();
        } else if key == "client-id" {
            info.client = value.parse().ok().map(ClientId::Client);
        } else if let Some(name) = key.strip_prefix("engine-capacity-") {
            class(&mut classes, name).capacity = number(value);
        } else if let Some(name) = key.strip_prefix("engine-") {
            class(&mut classes, name).busy_ns = number(value);
        } else if let Some(name) = key.strip_prefix("total-cycles-") {
            class(&mut classes, name).total_cycles = number(value);
        } else if let Some(name) = key.strip_prefix("cycles-") {
            class(&mut classes, name).cycles = number(value);
        } else {
            region(&mut regions, key, value);
        }
    }
    if !is_drm {
        return before_the_common_keys(text);
    }
    info.engines = classes.iter().filter_map(engine).collect();
    info.memory_bytes = device_memory(&regions);
    info.gtt_bytes = regions.iter().find(|region| region.name == "gtt").map(Region::bytes);
    Some(info)
}

/// amdgpu of Linux 5.14 to 5.18. Its shares by engine are averages over the life of the client: no use can be made
/// of them.
fn before_the_common_keys(text: &str) -> Option<ClientInfo> {
    let value =
        |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim);
    let bytes = |key: &str| number(value(key)?)?.checked_mul(1024);
    let pasid = number(value("pasid")?)?;
    Some(ClientInfo {
        driver: "amdgpu".to_owned(),
        pdev: value("pdev")?.to_owned(),
        client: Some(ClientId::Pasid(pasid)),
        engines: Vec::new(),
        memory_bytes: Some(bytes("vram mem")?),
        gtt_bytes: bytes("gtt mem"),
    })
}

fn class<'a, 'b>(classes: &'b mut Vec<Class<'a>>, name: &'a str) -> &'b mut Class<'a> {
    let place = classes.iter().position(|class| class.name == name).unwrap_or_else(|| {
        classes.push(Class { name, ..Class::default() });
        classes.len() - 1
    });
    &mut classes[place]
}

/// Cycles are a share only beside the cycles that have passed; panfrost has them beside the time.
fn engine(class: &Class<'_>) -> Option<Engine> {
    let busy = match (class.busy_ns, class.cycles, class.total_cycles) {
        (Some(ns), ..) => Busy::Nanos(ns),
        (None, Some(cycles), Some(total)) => Busy::Cycles(cycles, total),
        _ => return None,
    };
    let capacity = class.capacity.unwrap_or(1).max(1);
    Some(Engine { class: class.name.to_owned(), busy, capacity })
}

/// What the keys say of one memory region. Backed by pages now (`resident`, in older kernels `memory`) is
/// what we want; `total` includes what was never touched.
struct Region<'a> {
    name: &'a str,
    resident: Option<u64>,
    memory: Option<u64>,
    total: Option<u64>,
}

impl Region<'_> {
    fn bytes(&self) -> u64 {
        self.resident.or(self.memory).or(self.total).unwrap_or(0)
    }
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
    if regions.iter().any(|region| own(&region)) {
        return Some(regions.iter().filter(own).map(Region::bytes).sum());
    }
    (!regions.is_empty()).then(|| regions.iter().map(Region::bytes).sum())
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
