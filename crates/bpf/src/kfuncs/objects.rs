//! Objects of a program's own types, and the lists and trees that hold them.
//!
//! A list or tree is named by the address of its head and kept on the host's side; the nodes in guest memory are only
//! names. Trees are sorted arrays: the order is that of the kernel's tree, equal nodes in the order of insertion.

use crate::call::{Call, host_functions};
use crate::maps::errno;

host_functions! {
    /// `bpf_obj_new_impl(type, meta)`: an object of a local type, zeroed, or NULL.
    fn new(call, ty) {
        create(call, ty, None)
    }

    /// `bpf_percpu_obj_new_impl(type, meta)`: the same once for each CPU.
    fn new_per_cpu(call, ty) {
        create(call, ty, Some(call.vm().cpus))
    }

    /// `bpf_obj_drop_impl(object, meta)`: drops a reference.
    fn drop(call, object) {
        let vm = call.vm();
        if object != 0 && !vm.heap.release(&vm.memory, object) {
            return call.fail(format!("drops {object:#x}, which is no object of its own"));
        }
        0
    }

    /// `bpf_refcount_acquire_impl(object, meta)`: another reference to the same object.
    fn acquire(call, object) {
        if call.vm().heap.acquire(object) { object } else { 0 }
    }

    /// `bpf_list_push_front_impl(head, node, meta, offset)`.
    fn list_push_front(call, head, node) {
        push(call, head, node, 0)
    }

    /// `bpf_list_push_back_impl(head, node, meta, offset)`.
    fn list_push_back(call, head, node) {
        push(call, head, node, len(call, head))
    }

    /// `bpf_list_pop_front(head)`: the first node, or NULL.
    fn list_pop_front(call, head) {
        call.vm().heap.take(head, 0).unwrap_or(0)
    }

    /// `bpf_list_pop_back(head)`: the last node, or NULL.
    fn list_pop_back(call, head) {
        len(call, head).checked_sub(1).and_then(|last| call.vm().heap.take(head, last)).unwrap_or(0)
    }

    /// `bpf_list_front(head)` and `bpf_rbtree_first(root)`.
    fn first(call, head) {
        member(call, head, 0)
    }

    /// `bpf_list_back(head)`.
    fn last(call, head) {
        len(call, head).checked_sub(1).map_or(0, |last| member(call, head, last))
    }

    /// `bpf_rbtree_add_impl(root, node, less, meta, offset)`: behind all nodes that `node` is not less than.
    fn tree_add(call, root, node, less) {
        let (mut low, mut high) = (0, len(call, root));
        while low < high {
            let middle = (low + high) / 2;
            let goes_before = call.call_handle(less, [node, member(call, root, middle), 0, 0, 0]) as u8 != 0;
            if call.has_failed() {
                return 0;
            }
            if goes_before { high = middle } else { low = middle + 1 }
        }
        push(call, root, node, low)
    }

    /// `bpf_rbtree_remove(root, node)`: the node, or NULL if it was not in the tree.
    fn tree_remove(call, root, node) {
        if call.vm().heap.remove(root, node) { node } else { 0 }
    }

    /// `bpf_rbtree_root(root)`: the middle node.
    fn tree_root(call, root) {
        middle(call, root, 0, len(call, root))
    }

    /// `bpf_rbtree_left(root, node)`.
    fn tree_left(call, root, node) {
        match span(call, root, node) {
            Some((low, at, _)) => middle(call, root, low, at),
            None => 0,
        }
    }

    /// `bpf_rbtree_right(root, node)`.
    fn tree_right(call, root, node) {
        match span(call, root, node) {
            Some((_, at, high)) => middle(call, root, at + 1, high),
            None => 0,
        }
    }
}

fn create(call: Call, ty: u64, cpus: Option<u32>) -> u64 {
    let vm = call.vm();
    let Some(&size) = vm.local_types.get(&ty) else {
        return call.fail(format!("makes an object of type {ty}, which the object file does not have"));
    };
    vm.heap.create(&vm.memory, size, cpus).unwrap_or(0)
}

fn push(call: Call, head: u64, node: u64, position: usize) -> u64 {
    if call.vm().heap.insert(head, position, node) { 0 } else { errno::EINVAL as u64 }
}

fn len(call: Call, head: u64) -> usize {
    call.vm().heap.members(head).map_or(0, |members| members.len())
}

fn member(call: Call, head: u64, position: usize) -> u64 {
    call.vm().heap.members(head).and_then(|members| members.get(position).copied()).unwrap_or(0)
}

/// The node in the middle of a range of positions: the root of its part of a balanced tree.
fn middle(call: Call, root: u64, low: usize, high: usize) -> u64 {
    if low < high { member(call, root, (low + high) / 2) } else { 0 }
}

/// The positions of a node's part of the tree: first, its own, behind the last.
fn span(call: Call, root: u64, node: u64) -> Option<(usize, usize, usize)> {
    let members = call.vm().heap.members(root)?;
    let at = members.iter().position(|&member| member == node)?;
    let (mut low, mut high) = (0, members.len());
    loop {
        match (low + high) / 2 {
            middle if middle == at => return Some((low, at, high)),
            middle if middle < at => low = middle + 1,
            middle => high = middle,
        }
    }
}
