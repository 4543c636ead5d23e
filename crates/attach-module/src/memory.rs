//! The module's memory is the server's: the memory of the models counts towards `used_memory`, and
//! so towards `maxmemory`.
//!
//! Every allocation goes to the server's allocator once it is known, before the first allocation of
//! a loaded module. In tests, where there is no server, it goes to the system.
//!
//! The server guarantees an alignment of 8 bytes and no more: its jemalloc has blocks of 24 bytes.
//! For a larger alignment the module takes a larger block, and stores the server's address in front
//! of the aligned one.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::copy_nonoverlapping;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// The alignment that the server guarantees.
const ALIGN: usize = 8;

/// Size of an address, in bytes.
const POINTER: usize = size_of::<*mut u8>();

type Alloc = unsafe extern "C" fn(usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);

/// The server's allocator, or the system's while there is no server.
pub(crate) struct Memory {
    alloc: AtomicPtr<c_void>,
    free: AtomicPtr<c_void>,
    /// Bytes in use.
    used: AtomicU64,
}

#[global_allocator]
static MEMORY: Memory = Memory {
    alloc: AtomicPtr::new(std::ptr::null_mut()),
    free: AtomicPtr::new(std::ptr::null_mut()),
    used: AtomicU64::new(0),
};

/// Sends all allocations to the server's allocator from here on. Must run before any allocation.
pub(crate) fn take_from(alloc: Alloc, free: Free) {
    if MEMORY.alloc.load(Relaxed).is_null() && MEMORY.used.load(Relaxed) == 0 {
        MEMORY.free.store(free as *mut c_void, Relaxed);
        MEMORY.alloc.store(alloc as *mut c_void, Relaxed);
    }
}

/// Bytes that the module holds.
pub(crate) fn used() -> u64 {
    MEMORY.used.load(Relaxed)
}

impl Memory {
    fn server(&self) -> Option<(Alloc, Free)> {
        let (alloc, free) = (self.alloc.load(Relaxed), self.free.load(Relaxed));
        if alloc.is_null() {
            return None;
        }
        // SAFETY: both were stored from functions of these types by `take_from`, `free` first.
        Some(unsafe {
            (transmute::<*mut c_void, Alloc>(alloc), transmute::<*mut c_void, Free>(free))
        })
    }
}

// SAFETY: all blocks come from one allocator, the server's or the system's: which one is decided
// before the first allocation. Both meet the size, and the alignment up to `ALIGN`; beyond it a
// block is found within a larger one.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.used.fetch_add(layout.size() as u64, Relaxed);
        let Some((alloc, _)) = self.server() else {
            // SAFETY: the caller's promise about `layout` holds for the system's allocator too.
            return unsafe { System.alloc(layout) };
        };
        if layout.align() <= ALIGN {
            // A block smaller than its alignment may have only the alignment of its size.
            // SAFETY: the server's malloc takes any size.
            return unsafe { alloc(layout.size().max(layout.align())) }.cast();
        }
        // SAFETY: as above; the block has room for the address and the alignment.
        let block = unsafe { alloc(layout.size() + layout.align() + ALIGN) }.cast::<u8>();
        if block.is_null() {
            return block;
        }
        let past = block.addr() + POINTER;
        let offset = past.next_multiple_of(layout.align()) - block.addr();
        // SAFETY: `offset` is at least a pointer and at most a pointer and the alignment, so the
        // address in front and the bytes behind lie within the block.
        unsafe {
            let aligned = block.add(offset);
            copy_nonoverlapping((&raw const block).cast::<u8>(), aligned.sub(POINTER), POINTER);
            aligned
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.used.fetch_sub(layout.size() as u64, Relaxed);
        let Some((_, free)) = self.server() else {
            // SAFETY: the block came from the system.
            return unsafe { System.dealloc(at, layout) };
        };
        let block = if layout.align() <= ALIGN {
            at
        } else {
            let mut block = std::ptr::null_mut::<u8>();
            // SAFETY: `alloc` wrote the server's address in front of such a block.
            unsafe {
                copy_nonoverlapping(at.sub(POINTER), (&raw mut block).cast::<u8>(), POINTER);
            }
            block
        };
        // SAFETY: this address came from the server, and the block is no longer in use.
        unsafe { free(block.cast()) };
    }
}
