//! What has no safe form. The only unsafe code of the crate.

mod heap;

pub use heap::CountingAllocator;
