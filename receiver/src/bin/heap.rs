//! `wiretrial-receiver-heap`: the receiver with an allocator that counts, for diagnostic trials. It
//! costs an atomic addition for each allocation, so its other figures are not those of the receiver.

use std::process::ExitCode;

use wiretrial_receiver::sys::CountingAllocator;
use wiretrial_receiver::{cli, process};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

fn main() -> ExitCode {
    process::count_heap(|| HEAP.bytes());
    cli::main("wiretrial-receiver-heap")
}
