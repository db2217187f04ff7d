//! The system's allocator with a count of the bytes it gave out.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator; it counts the bytes taken from it by all threads. An allocation counts
/// with its size, a reallocation with what it grew by, and what is given back is not subtracted.
/// Memory that is not Rust's, such as libpcap's and the ring, does not pass through it.
#[derive(Debug)]
pub struct CountingAllocator {
    bytes: AtomicU64,
}

impl CountingAllocator {
    /// With a count of 0.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "a static needs a const function, and nothing else makes one"
    )]
    pub const fn new() -> Self {
        Self {
            bytes: AtomicU64::new(0),
        }
    }

    /// Bytes taken since the process started.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn add(&self, memory: *mut u8, bytes: usize) -> *mut u8 {
        if !memory.is_null() {
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        memory
    }
}

// SAFETY: every call is passed on to the system's allocator as it came, and its answer is given
// back as it is; counting neither allocates nor panics.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those the system's allocator asks for.
        self.add(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        self.add(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let grown = size.saturating_sub(layout.size());
        // SAFETY: as above; the memory came from the system's allocator, since all does.
        self.add(unsafe { System.realloc(memory, layout, size) }, grown)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_counts_and_what_is_given_back_does_not() {
        let heap = CountingAllocator::new();
        let layout = Layout::from_size_align(100, 8).unwrap();
        // SAFETY: the layouts are not empty, and each piece of memory is given back once, with the
        // layout it has by then.
        unsafe {
            let memory = heap.alloc(layout);
            assert_eq!(heap.bytes(), 100);
            let memory = heap.realloc(memory, layout, 250);
            assert_eq!(heap.bytes(), 250);
            let memory = heap.realloc(memory, Layout::from_size_align(250, 8).unwrap(), 50);
            assert_eq!(heap.bytes(), 250, "shrinking takes nothing");
            heap.dealloc(memory, Layout::from_size_align(50, 8).unwrap());
            let zeroed = heap.alloc_zeroed(layout);
            assert_eq!(*zeroed, 0);
            heap.dealloc(zeroed, layout);
        }
        assert_eq!(heap.bytes(), 350);
    }
}
