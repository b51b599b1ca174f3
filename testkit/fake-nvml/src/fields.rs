//! Field values: figures by number, several in one call, each with a code of its own.

use crate::calls::{INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, View, on_device};
use crate::state::{Device, unix_us};
use std::ffi::{c_int, c_uint};

#[repr(C)]
pub struct Field {
    id: c_uint,
    scope: c_uint,
    time_us: i64,
    latency_us: i64,
    value_type: c_uint,
    code: c_int,
    value: u64,
}

/// A value with its type in NVML.
enum Value {
    Double(f64),
    Int(u32),
    Long(u64),
    Signed(i64),
}

const ALL_LINKS: c_uint = c_uint::MAX;
/// Fields 74 to 79 are the policies 0 to 5, 80 and 81 the policies 10 and 11.
const FIRST_POLICY: c_uint = 74;

fn value(view: &View, device: &Device, id: c_uint, scope: c_uint) -> Option<Value> {
    if let Some(number) = device.fields.get(&id) {
        let whole = number.as_u64().map(Value::Long).or_else(|| number.as_i64().map(Value::Signed));
        return whole.or_else(|| number.as_f64().map(Value::Double));
    }
    let ecc = |error, counter| device.ecc.as_ref()?.count(error, counter).map(Value::Long);
    let rows = device.remapped.as_ref();
    match id {
        1 | 2 => device.ecc.as_ref().map(|ecc| Value::Int(u32::from(ecc.enabled))),
        3 => ecc(0, 0),
        4 => ecc(1, 0),
        5 => ecc(0, 1),
        6 => ecc(1, 1),
        74..=79 => device.violation_ns.get(&(id - FIRST_POLICY)).copied().map(Value::Long),
        80 | 81 => device.violation_ns.get(&(id - 70)).copied().map(Value::Long),
        82 => device.memory_temperature_c.map(Value::Int),
        83 => view.energy_mj(device).map(Value::Long),
        91 => device.nvlink.as_ref().map(|links| Value::Int(links.len() as u32)),
        138..=141 => {
            let links = device.nvlink.as_ref()?.iter().enumerate();
            let chosen = links.filter(|(place, _)| scope == ALL_LINKS || *place == scope as usize);
            let sent = id.is_multiple_of(2);
            Some(Value::Long(chosen.map(|(_, link)| if sent { link.tx_kib } else { link.rx_kib }).sum()))
        }
        142 => rows.map(|rows| Value::Int(rows.corrected)),
        143 => rows.map(|rows| Value::Int(rows.uncorrected)),
        144 => rows.map(|rows| Value::Int(u32::from(rows.pending))),
        145 => rows.map(|rows| Value::Int(u32::from(rows.failed))),
        185 | 186 => device.power_mw.map(Value::Int),
        188..=190 => device.power_limit_mw.map(Value::Int),
        _ => None,
    }
}

fn fill(view: &View, device: &Device, field: &mut Field) {
    let Some(value) = value(view, device, field.id, field.scope) else {
        field.code = NOT_SUPPORTED;
        return;
    };
    (field.value_type, field.value) = match value {
        Value::Double(number) => (0, number.to_bits()),
        Value::Int(number) => (1, u64::from(number)),
        Value::Long(number) => (3, number),
        Value::Signed(number) => (4, number as u64),
    };
    (field.code, field.time_us, field.latency_us) = (SUCCESS, unix_us() as i64, 0);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(device: usize, count: c_int, fields: *mut Field) -> c_int {
    on_device("nvmlDeviceGetFieldValues", device, |view, device| {
        if count <= 0 || fields.is_null() {
            return INVALID_ARGUMENT;
        }
        // SAFETY: the caller gives so many structures, with number and scope filled in.
        let fields = unsafe { std::slice::from_raw_parts_mut(fields, count as usize) };
        for field in fields {
            fill(view, device, field);
        }
        SUCCESS
    })
}
