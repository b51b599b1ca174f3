use super::*;

fn device(brand: Brand, index: u32, uuid: &str, name: &str, parent: Option<(&str, (u32, u32))>) -> GpuDevice {
    GpuDevice {
        uuid: uuid.to_owned(),
        brand,
        name: name.to_owned(),
        driver: String::new(),
        driver_version: None,
        pci_id: None,
        index,
        mig_parent: parent.map(|(uuid, _)| uuid.to_owned()),
        mig_ids: parent.map(|(_, ids)| ids),
        mig_enabled: false,
        memory_total_bytes: None,
        visible: None,
        selected: true,
        energy_method: None,
        has_activity: false,
        is_guessed: false,
    }
}

fn four() -> Vec<GpuDevice> {
    ["GPU-aa11", "GPU-aa22", "GPU-bb33", "GPU-cc44"]
        .iter()
        .enumerate()
        .map(|(index, uuid)| device(Brand::Nvidia, index as u32, uuid, "A100", None))
        .collect()
}

fn seen(mut devices: Vec<GpuDevice>, env: &JobEnv) -> Vec<Option<bool>> {
    mark(&mut devices, env, &[]);
    devices.iter().map(|device| device.visible).collect()
}

fn cuda(list: &str) -> JobEnv {
    JobEnv { cuda_visible_devices: Some(list.to_owned()), ..JobEnv::default() }
}

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

#[test]
fn cuda_lists_by_index_uuid_and_prefix_and_stops_at_the_first_wrong_one() {
    assert_eq!(seen(four(), &JobEnv::default()), [YES; 4]);
    assert_eq!(seen(four(), &cuda("1, 3")), [NO, YES, NO, YES]);
    assert_eq!(seen(four(), &cuda("GPU-bb33")), [NO, NO, YES, NO]);
    assert_eq!(seen(four(), &cuda("GPU-b")), [NO, NO, YES, NO]);
    assert_eq!(seen(four(), &cuda("GPU-aa")), [NO; 4], "an ambiguous prefix names nothing");
    assert_eq!(seen(four(), &cuda("2,-1,0")), [NO, NO, YES, NO]);
    assert_eq!(seen(four(), &cuda("")), [NO; 4]);
    assert_eq!(seen(four(), &cuda("NoDevFiles")), [NO; 4]);
    assert_eq!(seen(four(), &cuda("9")), [NO; 4]);
    assert_eq!(seen(four(), &cuda("0,0")), [NO; 4], "a device that is named twice makes the list void");
    assert_eq!(seen(four(), &cuda("1,2,GPU-aa22")), [NO; 4]);
}

#[test]
fn unlike_devices_have_no_sure_index_unless_ordered_by_bus() {
    let mut mixed = four();
    mixed[2].name = "T4".to_owned();
    assert_eq!(seen(mixed.clone(), &cuda("0")), [None; 4]);
    let ordered = JobEnv { cuda_device_order: Some("PCI_BUS_ID".to_owned()), ..cuda("0") };
    assert_eq!(seen(mixed.clone(), &ordered), [YES, NO, NO, NO]);
    assert_eq!(seen(mixed, &cuda("GPU-cc44")), [NO, NO, NO, YES]);
}

#[test]
fn mig_instances_by_name_and_by_ids() {
    let devices = vec![
        device(Brand::Nvidia, 0, "GPU-aa", "A100", None),
        device(Brand::Nvidia, 0, "MIG-1", "A100 MIG 1g", Some(("GPU-aa", (7, 0)))),
        device(Brand::Nvidia, 0, "MIG-2", "A100 MIG 1g", Some(("GPU-aa", (8, 0)))),
    ];
    assert_eq!(seen(devices.clone(), &cuda("MIG-2")), [YES, NO, YES]);
    assert_eq!(seen(devices.clone(), &cuda("MIG-GPU-aa/7/0")), [YES, YES, NO]);
    assert_eq!(seen(devices.clone(), &cuda("GPU-aa")), [YES, YES, NO], "its first instance");
    assert_eq!(seen(devices.clone(), &cuda("MIG-2,MIG-1")), [YES, NO, YES], "one instance and no more");
    assert_eq!(seen(devices.clone(), &JobEnv::default()), [YES, YES, NO]);
    let mixed = [devices, vec![device(Brand::Nvidia, 1, "GPU-bb", "A100", None)]].concat();
    assert_eq!(seen(mixed, &JobEnv::default()), [YES, YES, NO, None]);
}

#[test]
fn hip_numbers_what_rocr_left() {
    let devices: Vec<_> =
        (0..3).map(|i| device(Brand::Amd, i, &format!("GPU-{i:016x}"), "MI300X", None)).collect();
    let env = |rocr: Option<&str>, hip: Option<&str>| JobEnv {
        rocr_visible_devices: rocr.map(str::to_owned),
        hip_visible_devices: hip.map(str::to_owned),
        ..JobEnv::default()
    };
    assert_eq!(seen(devices.clone(), &env(Some("2,0"), Some("0"))), [NO, NO, YES]);
    assert_eq!(seen(devices.clone(), &env(Some("GPU-0000000000000001"), None)), [NO, YES, NO]);
    assert_eq!(seen(devices.clone(), &env(None, Some("1"))), [NO, YES, NO]);
    assert_eq!(seen(devices, &env(None, None)), [YES; 3]);
}

#[test]
fn rocr_numbers_by_the_topology_of_the_compute_driver() {
    let mut devices: Vec<_> =
        (0..3).map(|i| device(Brand::Amd, i, &format!("GPU-{i:016x}"), "MI300X", None)).collect();
    for (index, device) in devices.iter_mut().enumerate() {
        device.pci_id = Some(format!("0000:0{index}:00.0"));
    }
    // The second card comes first, and the first has no compute driver.
    let order = ["0000:01:00.0".to_owned(), "0000:02:00.0".to_owned()];
    let env = |list: &str| JobEnv { rocr_visible_devices: Some(list.to_owned()), ..JobEnv::default() };
    let mut seen = |env: &JobEnv| {
        mark(&mut devices, env, &order);
        devices.iter().map(|device| device.visible).collect::<Vec<_>>()
    };
    assert_eq!(seen(&env("0")), [NO, YES, NO]);
    assert_eq!(seen(&env("1")), [NO, NO, YES]);
    assert_eq!(seen(&env("2")), [NO; 3]);
}
