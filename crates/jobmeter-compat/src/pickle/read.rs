//! A reader of pickles that hold one call of `restore` on plain data, in any protocol since 2. It calls
//! nothing: the call is recognised, everything else is refused. Containers occur once in such a file, so a
//! reference back to one is refused too. Texts may be referred to again and are copied then: `limits` bounds how much.

use super::{RESTORE, RESULTS_MODULE};
use crate::limits;
use crate::tree::Node;
use jobmeter_model::text::printable;
use std::collections::HashMap;

/// Values under way: a deeper stack is not a results file, and would nest beyond what can be dropped.
const STACK_MAX: usize = 10_000;

#[derive(Debug, Clone)]
enum Item {
    Mark,
    Plain(Node),
    Tuple(Vec<Node>),
    Restore,
    Called(String, Node),
}

/// The kind of the result and its JSON form.
pub(crate) fn read_results(bytes: &[u8]) -> Result<(String, Node), String> {
    let copies_left = bytes.len().saturating_mul(limits::PICKLE_COPIES).max(limits::PICKLE_COPIES_MIN);
    Machine { bytes, place: 0, stack: Vec::new(), memo: HashMap::new(), copies_left }.run()
}

struct Machine<'a> {
    bytes: &'a [u8],
    place: usize,
    stack: Vec<Item>,
    /// Scalars by number; `None` stands for a container.
    memo: HashMap<usize, Option<Item>>,
    /// Bytes that may still be copied into the memo and out of it.
    copies_left: usize,
}

impl Machine<'_> {
    fn run(mut self) -> Result<(String, Node), String> {
        let mut steps_left = limits::PICKLE_STEPS_MIN + self.bytes.len() / limits::PICKLE_BYTES_PER_STEP;
        loop {
            steps_left = steps_left.checked_sub(1).ok_or("it holds far more values than results have")?;
            if self.stack.len() > STACK_MAX {
                return Err("it nests too deeply".to_owned());
            }
            let code = self.take(1)?[0];
            match code {
                // PROTO, FRAME
                0x80 => drop(self.take(1)?),
                0x95 => drop(self.take(8)?),
                b'.' => {
                    return match self.stack.pop() {
                        Some(Item::Called(kind, data)) => Ok((kind, data)),
                        _ => Err("it does not hold results".to_owned()),
                    };
                }
                b'(' => self.stack.push(Item::Mark),
                b'N' => self.push(Node::Null),
                0x88 => self.push(Node::Int(1)),
                0x89 => self.push(Node::Int(0)),
                b'K' => self.integer(1)?,
                b'M' => self.integer(2)?,
                b'J' => {
                    let number = i32::from_le_bytes(self.array()?);
                    self.push(Node::Int(i64::from(number)));
                }
                0x8a => self.long()?,
                b'G' => {
                    let number = f64::from_be_bytes(self.array()?);
                    self.push(Node::Float(number));
                }
                0x8c => self.text(1)?,
                b'X' => self.text(4)?,
                0x8d => self.text(8)?,
                b'}' => self.push(Node::Map(Vec::new())),
                b']' => self.push(Node::List(Vec::new())),
                b')' => self.stack.push(Item::Tuple(Vec::new())),
                b's' => self.set_items(2)?,
                b'u' => {
                    let count = self.since_mark()?;
                    self.set_items(count)?;
                }
                b'a' => self.append(1)?,
                b'e' => {
                    let count = self.since_mark()?;
                    self.append(count)?;
                }
                0x85..=0x87 => self.tuple(usize::from(code) - 0x84)?,
                b't' => {
                    let count = self.since_mark()?;
                    self.tuple(count)?;
                }
                b'c' => self.global_lines()?,
                0x93 => {
                    let (name, module) = (self.pop_text()?, self.pop_text()?);
                    self.global(&module, &name)?;
                }
                b'R' => self.call()?,
                0x94 => self.keep(self.memo.len())?,
                b'q' => {
                    let number = self.number(1)?;
                    self.keep(number)?;
                }
                b'r' => {
                    let number = self.number(4)?;
                    self.keep(number)?;
                }
                b'h' => self.recall(1)?,
                b'j' => self.recall(4)?,
                _ => return Err(format!("the operation 0x{code:02x} has no place in a results file")),
            }
        }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], String> {
        let end = self.place.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or("it ends too early")?;
        let taken = &self.bytes[self.place..end];
        self.place = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?.try_into().map_err(|_| "it ends too early".to_owned())
    }

    /// An unsigned number of up to eight bytes, the lowest first.
    fn number(&mut self, width: usize) -> Result<usize, String> {
        let bytes = self.take(width)?;
        let number = bytes.iter().rev().fold(0u64, |number, &byte| (number << 8) | u64::from(byte));
        usize::try_from(number).map_err(|_| "a length is beyond bounds".to_owned())
    }

    fn push(&mut self, node: Node) {
        self.stack.push(Item::Plain(node));
    }

    fn integer(&mut self, width: usize) -> Result<(), String> {
        let number = self.number(width)? as i64;
        self.push(Node::Int(number));
        Ok(())
    }

    fn long(&mut self) -> Result<(), String> {
        let width = self.number(1)?;
        let bytes = self.take(width)?;
        let Some(&highest) = bytes.last() else {
            self.push(Node::Int(0));
            return Ok(());
        };
        if width > 8 {
            return Err("a number is beyond 64 bits".to_owned());
        }
        let mut filled = [if highest & 0x80 == 0 { 0 } else { 0xff }; 8];
        filled[..width].copy_from_slice(bytes);
        self.push(Node::Int(i64::from_le_bytes(filled)));
        Ok(())
    }

    fn text(&mut self, width: usize) -> Result<(), String> {
        let length = self.number(width)?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| "a text is not UTF-8")?.to_owned();
        self.push(Node::Text(text));
        Ok(())
    }

    fn pop(&mut self) -> Result<Item, String> {
        self.stack.pop().ok_or_else(|| "a value is missing".to_owned())
    }

    fn pop_plain(&mut self) -> Result<Node, String> {
        match self.pop()? {
            Item::Plain(node) => Ok(node),
            _ => Err("a value has a wrong kind".to_owned()),
        }
    }

    fn pop_text(&mut self) -> Result<String, String> {
        match self.pop_plain()? {
            Node::Text(text) => Ok(text),
            _ => Err("a name is not a text".to_owned()),
        }
    }

    /// How many values stand above the last mark, which is removed.
    fn since_mark(&mut self) -> Result<usize, String> {
        let place =
            self.stack.iter().rposition(|item| matches!(item, Item::Mark)).ok_or("a mark is missing")?;
        self.stack.remove(place);
        Ok(self.stack.len() - place)
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Node>, String> {
        let mut nodes = (0..count).map(|_| self.pop_plain()).collect::<Result<Vec<_>, _>>()?;
        nodes.reverse();
        Ok(nodes)
    }

    fn set_items(&mut self, count: usize) -> Result<(), String> {
        let mut nodes = self.pop_many(count)?.into_iter();
        let Some(Item::Plain(Node::Map(entries))) = self.stack.last_mut() else {
            return Err("entries have no dictionary".to_owned());
        };
        while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
            let Node::Text(key) = key else { return Err("a key is not a text".to_owned()) };
            entries.push((key, value));
        }
        Ok(())
    }

    fn append(&mut self, count: usize) -> Result<(), String> {
        let nodes = self.pop_many(count)?;
        let Some(Item::Plain(Node::List(items))) = self.stack.last_mut() else {
            return Err("items have no list".to_owned());
        };
        items.extend(nodes);
        Ok(())
    }

    fn tuple(&mut self, count: usize) -> Result<(), String> {
        let nodes = self.pop_many(count)?;
        self.stack.push(Item::Tuple(nodes));
        Ok(())
    }

    fn global_lines(&mut self) -> Result<(), String> {
        let mut line = || {
            let rest = &self.bytes[self.place..];
            let end = rest.iter().position(|&byte| byte == b'\n').ok_or("it ends too early")?;
            self.place += end + 1;
            std::str::from_utf8(&rest[..end]).map(str::to_owned).map_err(|_| "a name is not UTF-8")
        };
        let (module, name) = (line()?, line()?);
        self.global(&module, &name)
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), String> {
        if (module, name) != (RESULTS_MODULE, RESTORE) {
            return Err(format!(
                "it names {}, which a results file may not hold",
                printable(&format!("{module}.{name}"))
            ));
        }
        self.stack.push(Item::Restore);
        Ok(())
    }

    fn call(&mut self) -> Result<(), String> {
        let (Item::Tuple(arguments), Item::Restore) = (self.pop()?, self.pop()?) else {
            return Err("it calls something that is not a function".to_owned());
        };
        match <[Node; 2]>::try_from(arguments) {
            Ok([Node::Text(kind), data @ Node::Map(_)]) => {
                self.stack.push(Item::Called(kind, data));
                Ok(())
            }
            _ => Err("its results have a wrong shape".to_owned()),
        }
    }

    fn keep(&mut self, number: usize) -> Result<(), String> {
        let kept = match self.stack.last().ok_or("there is nothing to keep")? {
            item @ (Item::Plain(Node::Text(_) | Node::Int(_) | Node::Float(_)) | Item::Restore) => Some(item),
            _ => None,
        };
        spend(&mut self.copies_left, kept)?;
        self.memo.insert(number, kept.cloned());
        Ok(())
    }

    fn recall(&mut self, width: usize) -> Result<(), String> {
        let number = self.number(width)?;
        let item = self.memo.get(&number).and_then(Option::as_ref);
        let item = item.ok_or("it refers back to something other than a text or a number")?;
        spend(&mut self.copies_left, Some(item))?;
        self.stack.push(item.clone());
        Ok(())
    }
}

/// What a copy of the item takes of the bytes that may be copied.
fn spend(left: &mut usize, item: Option<&Item>) -> Result<(), String> {
    let text_bytes = if let Some(Item::Plain(Node::Text(text))) = item { text.len() } else { 0 };
    *left = left
        .checked_sub(text_bytes + limits::PICKLE_COPY_COST)
        .ok_or("it repeats its texts so often that it would take far more memory than it has bytes")?;
    Ok(())
}
