//! AMD, Intel and other GPUs through the kernel's DRM: figures of a card from sysfs, use by processes from
//! the `fdinfo` of their descriptors.

mod card;
mod clients;
mod compute;
mod fdinfo;

use crate::device::GpuDevice;
use crate::gather::Gather;
use crate::kfd;
use crate::sign::is_card_name;
use crate::source::GpuSource;
use card::Card;
use clients::Clients;
use std::path::Path;

pub(crate) struct DrmSource {
    cards: Vec<Card>,
    clients: Clients,
}

impl DrmSource {
    /// Finds the cards under `root` and appends them to `devices`.
    pub(crate) fn start(root: &Path, devices: &mut Vec<GpuDevice>) -> DrmSource {
        let folder = root.join("sys/class/drm");
        let mut numbers: Vec<u32> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| is_card_name(name))
            .filter_map(|name| name["card".len()..].parse().ok())
            .collect();
        numbers.sort_unstable();
        let mut cards = Vec::new();
        for number in numbers {
            let found = Card::find(&folder.join(format!("card{number}")), cards.len() as u32);
            if let Some((mut card, device)) = found {
                card.slot = devices.len();
                devices.push(device);
                cards.push(card);
            }
        }
        for gpu in kfd::gpus(root).iter().filter(|gpu| gpu.is_apu) {
            cards.iter_mut().filter(|card| card.pci_id == gpu.pci_id).for_each(|card| card.is_apu = true);
        }
        let clients = Clients::new(root, &cards);
        DrmSource { cards, clients }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }
}

impl GpuSource for DrmSource {
    fn sample(&mut self, gather: &mut Gather<'_>) {
        for card in &mut self.cards {
            card.sample(gather);
        }
        self.clients.sample(&self.cards, gather);
    }
}
