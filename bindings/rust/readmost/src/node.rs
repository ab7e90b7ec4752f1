// SPDX-License-Identifier: Apache-2.0
//! Values that wait in the library to be dropped.

/// A value and the library's link `H`, by which it waits.
#[repr(C)]
pub(crate) struct Node<H, T> {
    head: H,
    pub(crate) value: T,
}

impl<H: Default, T> Node<H, T> {
    pub(crate) fn boxed(value: T) -> *mut Self {
        Box::into_raw(Box::new(Self { head: H::default(), value }))
    }
}

/// # Safety
/// `head` is that of a node from `Node::boxed()`, which nobody else uses or will.
pub(crate) unsafe extern "C" fn drop_node<H, T>(head: *mut H) {
    // SAFETY: as the caller says; the head is the first member. A panic ends here, as in every
    // function for C: the process aborts.
    drop(unsafe { Box::from_raw(head.cast::<Node<H, T>>()) });
}
