//! What a checker of memory must notice: it shows that the checker is at work.

use std::hint::black_box;

/// Writes one byte beyond a block, which is then freed.
pub(crate) fn overrun() {
    const SIZE: usize = 40;
    let block: *mut u8 = black_box(vec![0_u8; SIZE].leak().as_mut_ptr());
    // SAFETY: none; the first write is outside of the block, on purpose, and nothing but the allocator's own data is
    // there. The block was made by a vector of this size, and is freed as one.
    unsafe {
        block.add(SIZE).write_volatile(1);
        drop(Vec::from_raw_parts(block, SIZE, SIZE));
    }
}

/// Forgets a block.
pub(crate) fn leak() {
    black_box(vec![0_u8; 40].leak());
}
