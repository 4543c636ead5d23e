//! The module's memory is the server's: what models take counts towards `used_memory`, and so
//! towards `maxmemory`.
//!
//! Everything is taken by the server's own allocator once it is known, which is before the first
//! allocation of a loaded module. In tests, where there is no server, the system gives.
//!
//! The server aligns to 8 bytes and promises no more: its jemalloc has blocks of 24 bytes. What
//! wants more is taken larger, and the address that the server gave stands in front of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::copy_nonoverlapping;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// What the server aligns to.
const ALIGN: usize = 8;

/// Bytes of an address.
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

/// From here on all memory is the server's. To be called before anything is allocated.
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

// SAFETY: blocks are of the server's or the system's allocator, of one of them throughout: which
// one is decided before the first allocation. Both meet the size, and the alignment up to `ALIGN`;
// beyond it a block is found within a larger one.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.used.fetch_add(layout.size() as u64, Relaxed);
        let Some((alloc, _)) = self.server() else {
            // SAFETY: the caller's promise about `layout` is the system's.
            return unsafe { System.alloc(layout) };
        };
        if layout.align() <= ALIGN {
            // A block smaller than its alignment may be aligned to its size only.
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
            // SAFETY: it was the system that gave it.
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
        // SAFETY: the server gave this address, and nobody uses the block any more.
        unsafe { free(block.cast()) };
    }
}
