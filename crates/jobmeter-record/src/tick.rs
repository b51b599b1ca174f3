//! Ticks as bytes: the time, which columns surprised us, and by how much.
//!
//! ```text
//! zigzag varint   time minus foreseen time
//! bitmap          one bit per group of 8 columns: does the group hold a surprise
//! bitmap          one byte per such group: which columns
//! per surprise    0 = became absent; 1 = plain value follows; else zigzag(units - foreseen) + 2
//! ```

use crate::lane::Lane;
use crate::varint::{self, Cursor, unzigzag, zigzag};

const ABSENT: u64 = 0;
const PLAIN: u64 = 1;
const FIRST_DIFFERENCE: u64 = 2;

#[derive(Debug, Clone)]
pub(crate) struct TickCodec {
    time: Lane,
    lanes: Vec<Lane>,
    groups: Vec<u8>,
    codes: Vec<u8>,
}

impl Default for TickCodec {
    fn default() -> TickCodec {
        TickCodec { time: Lane::new(1), lanes: Vec::new(), groups: Vec::new(), codes: Vec::new() }
    }
}

impl TickCodec {
    pub(crate) fn add_column(&mut self, quantum: u64) {
        self.lanes.push(Lane::new(quantum));
    }

    /// Appends the payload of a tick. Allocates only until the buffers have reached their size.
    pub(crate) fn encode(&mut self, out: &mut Vec<u8>, t_ns: u64, values: &[Option<u64>]) {
        varint::put(out, zigzag(t_ns.wrapping_sub(self.time.foreseen())));
        self.time.learn(t_ns);
        self.groups.clear();
        self.groups.resize(self.lanes.len().div_ceil(8), 0);
        self.codes.clear();
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let value = values.get(index).copied().flatten();
            if encode_lane(lane, value, &mut self.codes) {
                self.groups[index / 8] |= 1 << (index % 8);
            }
        }
        for chunk in self.groups.chunks(8) {
            let bits = chunk.iter().enumerate().map(|(bit, group)| u8::from(*group != 0) << bit);
            out.push(bits.fold(0, |all, bit| all | bit));
        }
        out.extend(self.groups.iter().filter(|group| **group != 0));
        out.extend_from_slice(&self.codes);
    }

    /// Reads a payload back into `values`, one per column. `None` means malformed; the codec is then spent.
    pub(crate) fn decode(&mut self, payload: &[u8], values: &mut Vec<Option<u64>>) -> Option<u64> {
        let mut cursor = Cursor::new(payload);
        let t_ns = self.time.foreseen().wrapping_add(unzigzag(cursor.varint()?));
        self.time.learn(t_ns);
        let group_count = self.lanes.len().div_ceil(8);
        let top = cursor.bytes(group_count.div_ceil(8))?;
        self.groups.clear();
        for group in 0..group_count {
            let surprised = top[group / 8] >> (group % 8) & 1 == 1;
            self.groups.push(if surprised { cursor.byte()? } else { 0 });
        }
        values.clear();
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if self.groups[index / 8] >> (index % 8) & 1 == 1 {
                decode_lane(lane, &mut cursor)?;
            } else if lane.present {
                lane.learn(lane.foreseen());
            }
            values.push(if lane.present { Some(lane.value()?) } else { None });
        }
        cursor.is_empty().then_some(t_ns)
    }
}

/// Whether the value was a surprise and has a code.
fn encode_lane(lane: &mut Lane, value: Option<u64>, codes: &mut Vec<u8>) -> bool {
    let Some(value) = value else {
        if lane.present {
            lane.present = false;
            varint::put(codes, ABSENT);
            return true;
        }
        return false;
    };
    if lane.rests_at(value) {
        return false;
    }
    let foreseen = lane.foreseen();
    let units = lane.to_units(value);
    if lane.present && units == Some(foreseen) {
        lane.learn(foreseen);
        return false;
    }
    let code = units.and_then(|units| zigzag(units.wrapping_sub(foreseen)).checked_add(FIRST_DIFFERENCE));
    match (code, units) {
        (Some(code), Some(units)) => {
            varint::put(codes, code);
            lane.learn(units);
        }
        _ => {
            varint::put(codes, PLAIN);
            varint::put(codes, value);
            lane.restart(value);
        }
    }
    true
}

fn decode_lane(lane: &mut Lane, cursor: &mut Cursor<'_>) -> Option<()> {
    match cursor.varint()? {
        ABSENT => lane.present = false,
        PLAIN => lane.restart(cursor.varint()?),
        code => lane.learn(lane.foreseen().wrapping_add(unzigzag(code - FIRST_DIFFERENCE))),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Option<u64>> {
        prop_oneof![
            2 => Just(None),
            3 => (0u64..50).prop_map(Some),
            3 => (0u64..9000).prop_map(|page| Some(page * 4096)),
            1 => any::<u64>().prop_map(Some),
            1 => Just(Some(u64::MAX)),
        ]
    }

    proptest! {
        #[test]
        fn any_ticks_come_back(
            ticks in prop::collection::vec((any::<u64>(), prop::collection::vec(value(), 0..20)), 0..40),
            grow in 1usize..5,
        ) {
            let (mut writer, mut reader) = (TickCodec::default(), TickCodec::default());
            let (mut bytes, mut values) = (Vec::new(), Vec::new());
            for (index, (t_ns, row)) in ticks.iter().enumerate() {
                if index % grow == 0 {
                    let quantum = [1, 4096, 10_000_000, 512][index / grow % 4];
                    writer.add_column(quantum);
                    reader.add_column(quantum);
                }
                bytes.clear();
                writer.encode(&mut bytes, *t_ns, row);
                prop_assert_eq!(reader.decode(&bytes, &mut values), Some(*t_ns));
                let mut expected = row.clone();
                expected.resize(writer.lanes.len(), None);
                prop_assert_eq!(&values, &expected);
            }
        }

        #[test]
        fn any_bytes_decode_without_a_panic(payloads in prop::collection::vec(any::<Vec<u8>>(), 0..20)) {
            let mut reader = TickCodec::default();
            for quantum in [1, 4096, 10_000_000, u64::MAX, 0, 7, 1, 1, 1, 1] {
                reader.add_column(quantum);
            }
            let mut values = Vec::new();
            for payload in payloads {
                reader.decode(&payload, &mut values);
            }
        }
    }
}
