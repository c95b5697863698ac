//! The allocator of the program `host`. A crate of its own, because `host/cli` is compiled without optimization: calls
//! of the allocator took 1 % of a conversion there.

/// The system's allocator retains memory that the threads of many conversions have freed: half a gigabyte after 500 of
/// them. See docs/decisions/0011-allocator.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
