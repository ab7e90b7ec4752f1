// SPDX-License-Identifier: Apache-2.0
//! A hash map over the library's table.

use crate::rcu::{self, Section, DOMAIN};
use readmost_sys as c;
use std::any::Any;
use std::borrow::Borrow;
use std::collections::hash_map::RandomState;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::mem::size_of;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr;

/// A hash map whose lookups run at the speed of a plain one's, also while it is changed and resized:
/// they write nothing shared, wait for nothing and never start again. What a lookup finds may be used
/// until its [`Section`] ends.
///
/// ```
/// use readmost::{rcu, RcuHashMap};
///
/// let ports = RcuHashMap::new();
/// ports.insert("http".to_string(), 80);
///
/// let section = rcu::section();
/// assert_eq!(ports.get("http", &section), Some(&80));
/// ports.update("http", |port| port + 8000);    // a reader keeps what it has found
/// assert_eq!(ports.get("http", &section), Some(&8080));
/// assert_eq!(ports.get("gopher", &section), None);
/// ```
///
/// Entries do not change: a writer puts another one in the place of the old one, which is dropped as
/// [`Rcu`](crate::Rcu)'s values are. Any number of threads write at once; writers of the same
/// sixteenth of the keys wait for each other, never for readers.
///
/// `Eq` of the keys is called while that sixteenth is locked, so it must not write to the map, which
/// would wait for itself, and a panic in it aborts the process. The closures that members take may use
/// the map as they like.
///
/// `Send` and `Sync` if the hasher is: the table itself lets any number of threads use it at once; keys
/// and values are shared by threads and dropped by a thread of the library, and so have to be `Send`,
/// `Sync` and `'static`.
pub struct RcuHashMap<K, V, S = RandomState>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    table: *mut c::readmost_rcu_table_t,
    hasher: S,
    entries: PhantomData<Node<K, V>>,
}

// SAFETY: see "Send and Sync" above; the pointer is to a table that is the map's own.
unsafe impl<K, V, S: Send> Send for RcuHashMap<K, V, S>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
}
// SAFETY: likewise.
unsafe impl<K, V, S: Sync> Sync for RcuHashMap<K, V, S>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
}

#[repr(C)]
struct Node<K, V> {
    head: c::readmost_rcu_table_head,
    key: K,
    value: V,
}

impl<K, V> Node<K, V> {
    fn boxed(key: K, value: V) -> *mut Self {
        Box::into_raw(Box::new(Self { head: c::readmost_rcu_table_head::default(), key, value }))
    }
}

/// What a lookup passes through the library to `equal`: a key of a type that K can be borrowed as.
struct Probe {
    matches: unsafe fn(key: *const (), wanted: *const ()) -> bool,
    wanted: *const (),
}

impl Probe {
    /// `wanted` must outlive the probe, which the type does not say.
    fn new<K: Borrow<Q>, Q: Eq + ?Sized>(wanted: &&Q) -> Self {
        /// # Safety
        /// `key` points to a K, `wanted` to a `&Q`.
        unsafe fn matches<K: Borrow<Q>, Q: Eq + ?Sized>(key: *const (), wanted: *const ()) -> bool {
            // SAFETY: as the caller says.
            let (key, wanted) = unsafe { (&*key.cast::<K>(), *wanted.cast::<&Q>()) };
            key.borrow() == wanted
        }
        Self { matches: matches::<K, Q>, wanted: ptr::from_ref(wanted).cast() }
    }
}

/// # Safety
/// `head` is that of a node in the table, `key` points to a probe for the table's keys.
unsafe extern "C" fn equal<K, V>(
    head: *const c::readmost_rcu_table_head,
    key: *const c_void,
) -> c_int {
    let node = head.cast::<Node<K, V>>();
    // SAFETY: as the caller says. Only the key is referred to: other threads write to the head.
    unsafe {
        let probe = &*key.cast::<Probe>();
        c_int::from((probe.matches)(ptr::addr_of!((*node).key).cast(), probe.wanted))
    }
}

/// # Safety
/// `head` is that of a node from `Node::boxed()`, which nobody else uses or will.
unsafe extern "C" fn drop_node<K, V>(head: *mut c::readmost_rcu_table_head) {
    // SAFETY: as the caller says; the head is the first member.
    drop(unsafe { Box::from_raw(head.cast::<Node<K, V>>()) });
}

impl<K, V> RcuHashMap<K, V, RandomState>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    /// Makes an empty map.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }
}

impl<K, V, S> RcuHashMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    /// Makes an empty map with a hasher. It need not be a good one: the library spreads what it
    /// gives.
    pub fn with_hasher(hasher: S) -> Self {
        let mut table = ptr::null_mut();
        // SAFETY: the pointer is to a pointer; `equal` does what a table asks.
        let result =
            unsafe { c::readmost_rcu_table_create(&mut table, DOMAIN, Some(equal::<K, V>), 0) };
        assert_eq!(result, 0, "no memory for an RcuHashMap");
        Self { table, hasher, entries: PhantomData }
    }

    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The entry, or null, for as long as the section lasts.
    fn find<Q>(&self, key: &Q, _section: &Section) -> *mut Node<K, V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        let probe = Probe::new::<K, Q>(&key);
        // SAFETY: in a section; the probe and the key outlive the call.
        unsafe { c::readmost_rcu_table_find(self.table, hash, ptr::from_ref(&probe).cast()).cast() }
    }

    /// The value of a key, for as long as the section lasts. Wait-free if `Hash` and `Eq` are.
    pub fn get<'s, Q>(&'s self, key: &Q, section: &'s Section) -> Option<&'s V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get_key_value(key, section).map(|(_, value)| value)
    }

    /// The entry of a key, for as long as the section lasts.
    pub fn get_key_value<'s, Q>(&'s self, key: &Q, section: &'s Section) -> Option<(&'s K, &'s V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let node = self.find(key, section);
        if node.is_null() {
            return None;
        }
        // SAFETY: an entry that was found in a section is not dropped before the section ends, unless
        // with the map, which is borrowed as well; and it does not change.
        Some(unsafe { (&(*node).key, &(*node).value) })
    }

    /// Whether the map has the key.
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        !self.find(key, &rcu::section()).is_null()
    }

    /// Puts an entry in, in the place of the one that has the key, if there is one.
    pub fn insert(&self, key: K, value: V) {
        let hash = self.hash(&key);
        let node = Node::boxed(key, value);
        // SAFETY: the node is new, and goes to the library, which calls drop_node() once, after it
        // was taken out and no section can use it. The probe outlives the call; it refers to the
        // node's key, which the library looks for before it puts the node in, and not afterwards.
        // Not in a section, so that the thread can be made to wait for the backlog.
        unsafe {
            let wanted = &(*node).key;
            let probe = Probe::new::<K, K>(&wanted);
            c::readmost_rcu_table_put(
                self.table,
                node.cast(),
                hash,
                ptr::from_ref(&probe).cast(),
                Some(drop_node::<K, V>),
                size_of::<Node<K, V>>(),
            );
        }
    }

    /// Puts an entry in unless there is one that has the key: then both are given back.
    pub fn try_insert(&self, key: K, value: V) -> Result<(), (K, V)> {
        let hash = self.hash(&key);
        let node = Node::boxed(key, value);
        // SAFETY: as in insert().
        let result = unsafe {
            let wanted = &(*node).key;
            let probe = Probe::new::<K, K>(&wanted);
            c::readmost_rcu_table_insert(
                self.table,
                node.cast(),
                hash,
                ptr::from_ref(&probe).cast(),
                Some(drop_node::<K, V>),
                size_of::<Node<K, V>>(),
            )
        };
        if result == 0 {
            return Ok(());
        }
        // SAFETY: the node is from a box and was not put in.
        let Node { key, value, .. } = *unsafe { Box::from_raw(node) };
        Err((key, value))
    }

    /// Replaces the value of a key by what `change` makes of it; false if the map does not have the
    /// key. `change` is called again whenever another thread has replaced the entry meanwhile. The
    /// entry is replaced in a section, so the thread never waits for the backlog.
    pub fn update<Q>(&self, key: &Q, mut change: impl FnMut(&V) -> V) -> bool
    where
        K: Borrow<Q> + Clone,
        Q: Hash + Eq + ?Sized,
    {
        loop {
            let section = rcu::section();
            let old = self.find(key, &section);
            if old.is_null() {
                return false;
            }
            // SAFETY: as in get_key_value().
            let fresh = unsafe { Node::boxed((*old).key.clone(), change(&(*old).value)) };
            // SAFETY: `old` was found in this section; as to `fresh`, as in insert().
            let result = unsafe {
                c::readmost_rcu_table_replace(
                    self.table,
                    old.cast(),
                    fresh.cast(),
                    Some(drop_node::<K, V>),
                    size_of::<Node<K, V>>(),
                )
            };
            if result == 0 {
                return true;
            }
            // SAFETY: the node is from a box and was not put in.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }

    /// Takes an entry out; false if the map does not have the key.
    pub fn remove<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let probe = Probe::new::<K, Q>(&key);
        // SAFETY: the probe and the key outlive the call.
        unsafe {
            c::readmost_rcu_table_erase(self.table, self.hash(key), ptr::from_ref(&probe).cast())
                == 0
        }
    }

    /// Takes out the entries for which `keep` is false. It is called once for each that is in the map
    /// throughout.
    pub fn retain(&self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.visit(|node| {
            // SAFETY: visited in a section.
            if !keep(unsafe { &(*node).key }, unsafe { &(*node).value }) {
                // SAFETY: likewise. If another thread has taken it out, that is as well.
                unsafe { c::readmost_rcu_table_erase_object(self.table, node.cast()) };
            }
        });
    }

    /// Takes all entries out that are in the map throughout.
    pub fn clear(&self) {
        self.retain(|_, _| false);
    }

    /// Calls `look` for each entry, in a section: once for each that is in the map throughout, at most
    /// once for each key that comes or goes meanwhile.
    pub fn for_each(&self, mut look: impl FnMut(&K, &V)) {
        // SAFETY: visited in a section.
        self.visit(|node| look(unsafe { &(*node).key }, unsafe { &(*node).value }));
    }

    fn visit(&self, mut visitor: impl FnMut(*mut Node<K, V>)) {
        struct Visit<'a, K, V> {
            visitor: &'a mut dyn FnMut(*mut Node<K, V>),
            panic: Option<Box<dyn Any + Send>>,
        }
        /// # Safety
        /// `head` is that of a node in the table, `argument` points to a visit.
        unsafe extern "C" fn one<K, V>(
            head: *mut c::readmost_rcu_table_head,
            argument: *mut c_void,
        ) {
            // SAFETY: as the caller says.
            let visit = unsafe { &mut *argument.cast::<Visit<'_, K, V>>() };
            if visit.panic.is_none() {
                // The state of the closure is seen by nobody but by whoever catches the panic below.
                visit.panic = catch_unwind(AssertUnwindSafe(|| (visit.visitor)(head.cast()))).err();
            }
        }
        let mut visit = Visit { visitor: &mut visitor, panic: None };
        // SAFETY: `one` gets the table's nodes and the visit, which outlives the call.
        unsafe {
            c::readmost_rcu_table_for_each(
                self.table,
                Some(one::<K, V>),
                ptr::from_mut(&mut visit).cast(),
            );
        }
        if let Some(panic) = visit.panic {
            resume_unwind(panic);
        }
    }

    /// The number of entries; exact while nobody writes.
    pub fn len(&self) -> usize {
        // SAFETY: the table is the map's.
        unsafe { c::readmost_rcu_table_size(self.table) as usize }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes room for so many entries in all. Outside of sections it waits for grace periods.
    pub fn reserve(&self, entries: usize) {
        // SAFETY: the table is the map's. That there is not enough memory is no error: chains are
        // longer then.
        unsafe { c::readmost_rcu_table_reserve(self.table, entries as u64) };
    }
}

impl<K, V, S> Drop for RcuHashMap<K, V, S>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    fn drop(&mut self) {
        // SAFETY: what was found in the map borrows it, so nobody reads an entry now.
        unsafe { c::readmost_rcu_table_destroy(self.table) };
    }
}

impl<K, V, S> Default for RcuHashMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Default,
{
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, S> FromIterator<(K, V)> for RcuHashMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Default,
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let map = Self::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K, V, S> fmt::Debug for RcuHashMap<K, V, S>
where
    K: Hash + Eq + Send + Sync + fmt::Debug + 'static,
    V: Send + Sync + fmt::Debug + 'static,
    S: BuildHasher,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        self.for_each(|key, value| {
            map.entry(key, value);
        });
        map.finish()
    }
}
