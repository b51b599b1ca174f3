//! What the two processes tell each other: members one way, what the drivers told the other way.

use super::wire::{Reader, Wire};
use crate::config::Brand;
use crate::device::{DeviceReading, GpuDevice};
use crate::error::GpuError;
use crate::identity::Member;
use crate::snapshot::{Client, Failure, GpuSnapshot, GpuWarning, Owner, ScopeReading};
use crate::work::Told;
use jobmeter_model::ProcessId;

/// All fields, in this order: one that is forgotten does not compile.
macro_rules! fields {
    ($kind:ident { $($field:ident),* $(,)? }) => {
        impl Wire for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                let $kind { $($field),* } = self;
                $($field.put(out);)*
            }

            fn get(from: &mut Reader<'_>) -> Option<$kind> {
                $(let $field = Wire::get(from)?;)*
                Some($kind { $($field),* })
            }
        }
    };
}

fields!(ProcessId { pid, start_ticks });
fields!(Member { id, main });
fields!(Owner { id, main });
fields!(Client { device, owners, memory_bytes, busy_ppm, memory_busy_ppm });
fields!(ScopeReading { memory_bytes, busy_ppm, memory_busy_ppm });
fields!(Failure { uuid, figure, reason });
fields!(GpuWarning { kind, text, monotonic_ns });
fields!(GpuDevice {
    uuid,
    brand,
    name,
    driver,
    driver_version,
    pci_id,
    index,
    mig_parent,
    mig_ids,
    mig_enabled,
    memory_total_bytes,
    visible,
    selected,
    energy_method,
    has_activity,
    is_guessed,
});
fields!(DeviceReading {
    busy_ppm,
    memory_busy_ppm,
    memory_total_bytes,
    memory_used_bytes,
    memory_free_bytes,
    gtt_total_bytes,
    gtt_used_bytes,
    power_mw,
    energy_uj,
    temperature_mc,
    clock_sm_hz,
    clock_memory_hz,
    throttle_bits,
    pcie_receive_bytes_per_s,
    pcie_transmit_bytes_per_s,
    nvlink_receive_bytes_per_s,
    nvlink_transmit_bytes_per_s,
    sm_active_ppm,
    sm_occupancy_ppm,
    tensor_ppm,
    fp64_ppm,
    fp32_ppm,
    fp16_ppm,
    dram_ppm,
    ecc_corrected,
    ecc_uncorrected,
    xid_events,
    accounted_peak_bytes,
    lost,
    asleep,
});
fields!(GpuSnapshot { sequence, monotonic_ns, devices, readings, clients, scopes, failures, warnings });
fields!(Told { ready, failed, reason, asleep, devices, latest });

const BRANDS: [Brand; 4] = [Brand::Nvidia, Brand::Amd, Brand::Intel, Brand::Other];

impl Wire for Brand {
    fn put(&self, out: &mut Vec<u8>) {
        let place = BRANDS.iter().position(|brand| brand == self).unwrap_or(BRANDS.len() - 1);
        place.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Option<Brand> {
        BRANDS.get(usize::get(from)?).copied()
    }
}

/// Only a wrong choice of devices is found out over there; the other errors come before.
impl Wire for GpuError {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            GpuError::UnknownUuids { unknown, valid } => (unknown.clone(), Some(valid.clone())).put(out),
            other => (vec![other.to_string()], None::<Vec<String>>).put(out),
        }
    }

    fn get(from: &mut Reader<'_>) -> Option<GpuError> {
        let (texts, valid) = <(Vec<String>, Option<Vec<String>>)>::get(from)?;
        Some(match valid {
            Some(valid) => GpuError::UnknownUuids { unknown: texts, valid },
            None => GpuError::Thread { reason: texts.join("; ") },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn told() -> Told {
        let device = GpuDevice {
            uuid: "GPU-1".to_owned(),
            brand: Brand::Amd,
            name: "x".to_owned(),
            driver: "amdgpu".to_owned(),
            driver_version: None,
            pci_id: Some("0000:03:00.0".to_owned()),
            index: 3,
            mig_parent: None,
            mig_ids: Some((1, 2)),
            mig_enabled: false,
            memory_total_bytes: Some(1 << 40),
            visible: Some(false),
            selected: true,
            energy_method: Some("driver counter"),
            has_activity: true,
            is_guessed: true,
        };
        let id = ProcessId { pid: 7, start_ticks: u64::MAX };
        let client = Client {
            device: 0,
            owners: vec![Owner { id, main: true }],
            memory_bytes: Some(5),
            busy_ppm: None,
            memory_busy_ppm: Some(0),
        };
        let devices = Arc::new(vec![device]);
        let snapshot = GpuSnapshot {
            sequence: 9,
            devices: Arc::clone(&devices),
            readings: vec![DeviceReading { power_mw: Some(1), lost: true, ..Default::default() }],
            clients: vec![client],
            scopes: vec![[ScopeReading { busy_ppm: Some(1), ..Default::default() }; 3]],
            warnings: Arc::new(vec![GpuWarning {
                kind: "gpu_lost",
                text: "gone".to_owned(),
                monotonic_ns: 5,
            }]),
            ..GpuSnapshot::default()
        };
        let failed = GpuError::UnknownUuids { unknown: vec!["a".to_owned()], valid: vec!["b".to_owned()] };
        Told {
            ready: true,
            failed: Some(failed),
            reason: Some("näh".to_owned()),
            asleep: None,
            devices: Some(devices),
            latest: Some(Arc::new(snapshot)),
        }
    }

    #[test]
    fn what_is_put_is_got_and_what_is_cut_or_bent_is_refused_without_harm() {
        let mut bytes = Vec::new();
        told().put(&mut bytes);
        let back = Told::get(&mut Reader(&bytes)).expect("the same again");
        assert_eq!(format!("{back:?}"), format!("{:?}", told()));
        for length in 0..bytes.len() {
            assert!(Told::get(&mut Reader(&bytes[..length])).is_none(), "{length} of {}", bytes.len());
        }
        for place in 0..bytes.len() {
            let mut bent = bytes.clone();
            bent[place] ^= 0xff;
            // It may still be read as something; it must not crash or take memory without bound.
            drop(Told::get(&mut Reader(&bent)));
        }
    }
}
