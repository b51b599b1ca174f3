//! Python pickles: written by hand for our own classes, read through an allow-list of one name.

mod read;
mod write;

pub(crate) use read::read_results;
pub(crate) use write::{write_results, write_usage};

const RESULTS_MODULE: &str = "jobmeter.compat.gpu_tracker._results";
const USAGE_MODULE: &str = "jobmeter.compat.gpu_tracker.usage";
/// The function that makes a result of its kind and its JSON form.
const RESTORE: &str = "restore";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Node;

    #[test]
    fn what_is_written_reads_back() {
        let data = Node::map([
            ("overall", Node::map([("a", Node::Float(-0.25)), ("b", Node::Float(f64::INFINITY))])),
            ("list", Node::List(vec![Node::Int(-1), Node::Int(1 << 40), Node::Null, Node::text("é\n")])),
            ("empty", Node::List(Vec::new())),
        ]);
        let bytes = write_results("SubTrackingResults", &data);
        assert_eq!(read_results(&bytes), Ok(("SubTrackingResults".to_owned(), data)));
    }

    #[test]
    fn a_foreign_name_is_refused_and_never_called() {
        // protocol 4, as Python writes a reference to os.system applied to a command
        let bytes = b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.";
        assert!(read_results(bytes).is_err_and(|text| text.contains("os.system")));
    }

    #[test]
    fn no_prefix_and_no_flipped_byte_panics() {
        let data = Node::map([("list", Node::List(vec![Node::Int(3), Node::text("x")]))]);
        let bytes = write_results("ComparisonResults", &data);
        for end in 0..bytes.len() {
            assert!(read_results(&bytes[..end]).is_err());
        }
        for place in 0..bytes.len() {
            for value in 0..=255 {
                let mut broken = bytes.clone();
                broken[place] = value;
                drop(read_results(&broken));
            }
        }
    }

    #[test]
    fn a_text_that_is_repeated_without_end_is_refused() {
        let big = vec![b'x'; 500_000];
        let text = [b"\x80\x04X".as_slice(), &500_000u32.to_le_bytes(), &big].concat();
        // Kept in ever new places of the memo, or taken out of it into a list.
        let kept = [text.clone(), vec![0x94; 500_000]].concat();
        let taken = [text, b"\x94](".to_vec(), b"h\x00".repeat(250_000)].concat();
        for bytes in [kept, taken] {
            let refused = read_results(&bytes).expect_err("too much");
            assert!(refused.contains("repeats its texts"), "{refused}");
        }
        let nothing = [b"\x80\x04]".to_vec(), b"Na".repeat(500_000)].concat();
        assert!(read_results(&nothing).is_err_and(|text| text.contains("far more values")));
    }
}
