//! Objects of a program's own types, and the lists and trees that hold them.
//!
//! A list or tree is named by the address of its head and kept on the host's side; the nodes in guest memory are only
//! names. Trees are sorted arrays: the order is that of the kernel's tree, equal nodes in the order of insertion.
//!
//! A reference belongs to the program, to a collection, or to a pointer in a map. Putting an object into a collection
//! takes the program's; what is only looked at there stays the collection's.

use crate::arguments::{Argument, Callback, Own, host_functions};
use crate::check::Check;
use crate::fields::FieldKind;
use crate::maps::errno;
use crate::references::Held;
use crate::vm::VmState;

/// About what it takes to make an object.
const STEPS_PER_OBJECT: u64 = 16;
/// Members moved or compared for the price of one instruction.
const MEMBERS_PER_STEP: u64 = 8;

/// The head of a list or the root of a tree.
#[derive(Clone, Copy, Debug)]
struct Head<const TREE: bool>(u64);

impl<const TREE: bool> Argument for Head<TREE> {
    fn take(call: &mut Check<'_>, words: &[u64]) -> Option<Head<TREE>> {
        let (kind, what) = if TREE { (FieldKind::Tree, "bpf_rb_root") } else { (FieldKind::List, "bpf_list_head") };
        if call.field(words[0], what)? != kind {
            return call.fail(format!("passes {:#x} as a {what}, which it is not", words[0]));
        }
        if call.vm().heap.comparing {
            return call.fail("uses a list or tree while it compares two nodes");
        }
        Some(Head(words[0]))
    }
}

/// A node of a list or tree, in an object of the program's own.
#[derive(Clone, Copy, Debug)]
struct Node<const TREE: bool> {
    address: u64,
    object: Own,
}

impl<const TREE: bool> Argument for Node<TREE> {
    fn take(call: &mut Check<'_>, words: &[u64]) -> Option<Node<TREE>> {
        let (kind, what) =
            if TREE { (FieldKind::TreeNode, "bpf_rb_node") } else { (FieldKind::ListNode, "bpf_list_node") };
        let object = call.own_object(words[0])?;
        if call.field(words[0], what)? != kind {
            return call.fail(format!("passes {:#x} as a {what}, which it is not", words[0]));
        }
        Some(Node { address: words[0], object })
    }
}

host_functions! {
    /// `bpf_obj_new_impl(type, meta)`: an object of a local type, zeroed, or NULL.
    fn new(call, ty: u64) {
        create(call, ty, None)
    }

    /// `bpf_percpu_obj_new_impl(type, meta)`: the same once for each CPU.
    fn new_per_cpu(call, ty: u64) {
        let cpus = call.vm().cpus;
        create(call, ty, Some(cpus))
    }

    /// `bpf_obj_drop_impl(object, meta)`: drops a reference.
    fn drop(call, object: u64) {
        let object = call.own_object(object)?;
        call.give_up(object.base, "local object", |held| *held == Held::Object)?;
        drop_one(call, object.base)
    }

    /// `bpf_refcount_acquire_impl(object, meta)`: another reference to the same object.
    fn acquire(call, object: u64) {
        let object = call.own_object(object)?;
        call.vm().heap.acquire(object.base);
        call.hold(object.base, Held::Object)
    }

    /// `bpf_list_push_front_impl(head, node, meta, offset)`.
    fn list_push_front(call, head: Head<false>, node: Node<false>) {
        push(call, head, node, 0)
    }

    /// `bpf_list_push_back_impl(head, node, meta, offset)`.
    fn list_push_back(call, head: Head<false>, node: Node<false>) {
        push(call, head, node, usize::MAX)
    }

    /// `bpf_list_pop_front(head)`: the first node, or NULL.
    fn list_pop_front(call, head: Head<false>) {
        take(call, head, 0)
    }

    /// `bpf_list_pop_back(head)`: the last node, or NULL.
    fn list_pop_back(call, head: Head<false>) {
        match len(call, head).checked_sub(1) {
            Some(last) => take(call, head, last),
            None => Some(0),
        }
    }

    /// `bpf_list_front(head)`.
    fn list_front(call, head: Head<false>) {
        Some(member(call, head, 0))
    }

    /// `bpf_list_back(head)`.
    fn list_back(call, head: Head<false>) {
        Some(len(call, head).checked_sub(1).map_or(0, |last| member(call, head, last)))
    }

    /// `bpf_rbtree_first(root)`.
    fn tree_first(call, root: Head<true>) {
        Some(member(call, root, 0))
    }

    /// `bpf_rbtree_add_impl(root, node, less, meta, offset)`: behind all nodes that `node` is not less than.
    fn tree_add(call, root: Head<true>, node: Node<true>, less: Callback) {
        let (mut low, mut high) = (0, len(call, root));
        while low < high {
            let middle = (low + high) / 2;
            let other = member(call, root, middle);
            call.vm().heap.comparing = true;
            let goes_before = call.call_back(less, [node.address, other, 0, 0, 0]);
            call.vm().heap.comparing = false;
            if goes_before? as u8 != 0 { high = middle } else { low = middle + 1 }
        }
        push(call, root, node, low)
    }

    /// `bpf_rbtree_remove(root, node)`: the node, or NULL if it was not in the tree.
    fn tree_remove(call, root: Head<true>, node: Node<true>) {
        match position(call, root, node)? {
            Some(at) => take(call, root, at),
            None => Some(0),
        }
    }

    /// `bpf_rbtree_root(root)`: the middle node.
    fn tree_root(call, root: Head<true>) {
        let len = len(call, root);
        Some(middle(call, root, 0, len))
    }

    /// `bpf_rbtree_left(root, node)`.
    fn tree_left(call, root: Head<true>, node: Node<true>) {
        Some(match span(call, root, node)? {
            Some((low, at, _)) => middle(call, root, low, at),
            None => 0,
        })
    }

    /// `bpf_rbtree_right(root, node)`.
    fn tree_right(call, root: Head<true>, node: Node<true>) {
        Some(match span(call, root, node)? {
            Some((_, at, high)) => middle(call, root, at + 1, high),
            None => 0,
        })
    }
}

fn create(call: &mut Check<'_>, ty: u64, cpus: Option<u32>) -> Option<u64> {
    let size = match call.vm().local_types.find(ty).map(|found| found.size) {
        Ok(size) => size,
        Err(what) => return call.fail(format!("makes an object of {what}")),
    };
    call.charge(STEPS_PER_OBJECT)?;
    call.charge_bytes(u64::from(size) * u64::from(cpus.unwrap_or(1)))?;
    let VmState { heap, memory, .. } = call.vm();
    match heap.create(memory, ty, size, cpus) {
        Ok(object) => call.hold(object, Held::Object),
        Err(error) => call.out_of_memory(&error),
    }
}

/// Drops a reference to an object, and the object with its last one.
fn drop_one(call: &mut Check<'_>, object: u64) -> Option<u64> {
    let dropped = call.vm().drop_object(object);
    call.charge(STEPS_PER_OBJECT * dropped)?;
    Some(0)
}

/// Moves the program's reference into a collection. A node that is in one already is dropped, as in the kernel.
fn push<const TREE: bool>(
    call: &mut Check<'_>,
    Head(head): Head<TREE>,
    node: Node<TREE>,
    position: usize,
) -> Option<u64> {
    call.give_up(node.object.base, "local object", |held| *held == Held::Object)?;
    let heap = &mut call.vm().heap;
    let moved = heap.members(head).map_or(0, |members| members.len().saturating_sub(position).min(position));
    if !heap.insert(head, position, node.address) {
        drop_one(call, node.object.base)?;
        return Some(errno::EINVAL as u64);
    }
    call.charge(moved as u64 / MEMBERS_PER_STEP)?;
    Some(0)
}

/// Moves the reference of a collection to the program.
fn take<const TREE: bool>(call: &mut Check<'_>, Head(head): Head<TREE>, position: usize) -> Option<u64> {
    let heap = &mut call.vm().heap;
    let moved = heap.members(head).map_or(0, |members| members.len().saturating_sub(position).min(position));
    let Some(node) = heap.take(head, position) else { return Some(0) };
    call.charge(moved as u64 / MEMBERS_PER_STEP)?;
    let object = call.own_object(node)?;
    call.hold(object.base, Held::Object)?;
    Some(node)
}

fn len<const TREE: bool>(call: &mut Check<'_>, Head(head): Head<TREE>) -> usize {
    call.vm().heap.members(head).map_or(0, |members| members.len())
}

fn member<const TREE: bool>(call: &mut Check<'_>, Head(head): Head<TREE>, position: usize) -> u64 {
    call.vm().heap.members(head).and_then(|members| members.get(position).copied()).unwrap_or(0)
}

/// The node in the middle of a range of positions: the root of its part of a balanced tree.
fn middle(call: &mut Check<'_>, root: Head<true>, low: usize, high: usize) -> u64 {
    if low < high { member(call, root, (low + high) / 2) } else { 0 }
}

fn position(call: &mut Check<'_>, Head(root): Head<true>, node: Node<true>) -> Option<Option<usize>> {
    let at = call.vm().heap.position(root, node.address);
    call.charge(at.unwrap_or(0) as u64 / MEMBERS_PER_STEP)?;
    Some(at)
}

/// The positions of a node's part of the tree: first, its own, behind the last.
fn span(call: &mut Check<'_>, root: Head<true>, node: Node<true>) -> Option<Option<(usize, usize, usize)>> {
    let Some(at) = position(call, root, node)? else { return Some(None) };
    let (mut low, mut high) = (0, len(call, root));
    loop {
        match (low + high) / 2 {
            middle if middle == at => return Some(Some((low, at, high))),
            middle if middle < at => low = middle + 1,
            middle => high = middle,
        }
    }
}
