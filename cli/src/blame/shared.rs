//! The memory that outlives this process, and the signal handler that writes to it. All of blame's `unsafe` is here.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{self, Write as _};
use std::mem::{self, MaybeUninit};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many threads can leave breadcrumbs at the same time.
pub(super) const SLOTS: usize = 256;
/// What the memory begins with.
pub(super) const MAGIC: u64 = u64::from_ne_bytes(*b"THBLAME1");
/// Stands for more than one plugin.
pub(super) const SEVERAL: u64 = u64::MAX;
/// How many bytes of the file are shared memory.
pub(super) const LENGTH: usize = mem::size_of::<Shared>();
/// How many bytes of the file are the head, which says how the process ended.
pub(super) const HEAD: usize = mem::size_of::<Head>();
/// The signals that are recorded: a process that gets one of them by what its code did is mostly lost.
pub(super) const SIGNALS: [(c_int, &str); 4] =
    [(libc::SIGSEGV, "SIGSEGV"), (libc::SIGBUS, "SIGBUS"), (libc::SIGILL, "SIGILL"), (libc::SIGABRT, "SIGABRT")];
/// A process that cannot have this many bytes more lacks memory, and may end in any code.
const LACK_OF_MEMORY: usize = 64 << 20;

/// The head's words, by their places.
#[derive(Debug, Clone, Copy)]
pub(super) enum Word {
    Magic,
    Pid,
    /// 0 until a signal is recorded, 1 while it is, 2 from then on.
    State,
    /// The first signal.
    Signal,
    /// The signal that came last, by which the process ended: a handler may answer one with another.
    Last,
    /// What the code wanted to reach, where the system says so.
    Address,
    /// Where the code was.
    Instruction,
    /// The number of the only plugin whose code ran, none, or `SEVERAL`.
    Active,
    /// When, in milliseconds since 1970.
    At,
    /// How many threads without a slot are in a plugin's code.
    Elsewhere,
}

#[repr(C, align(64))]
struct Head([AtomicU64; 16]);

/// One thread's breadcrumb, on a cache line of its own.
#[repr(C, align(64))]
pub(super) struct Slot {
    taken: AtomicU32,
    plugin: AtomicU32,
}

#[repr(C)]
pub(super) struct Shared {
    head: Head,
    slots: [Slot; SLOTS],
}

/// Of this process, once there is one.
static SHARED: OnceLock<&'static Shared> = OnceLock::new();
/// What the signals did before, in the order of `SIGNALS`.
static PREVIOUS: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

impl Slot {
    /// Says whose code this thread runs from now on; returns whose it ran.
    pub(super) fn swap(&self, plugin: u32) -> u32 {
        // No other thread writes to it.
        let before = self.plugin.load(Ordering::Relaxed);
        self.plugin.store(plugin, Ordering::Release);
        before
    }

    pub(super) fn give_back(&self) {
        self.plugin.store(0, Ordering::Release);
        self.taken.store(0, Ordering::Release);
    }
}

impl Shared {
    fn word(&self, word: Word) -> &AtomicU64 {
        &self.head.0[word as usize]
    }

    /// A slot that no thread has; `None` where all are taken.
    pub(super) fn free_slot(&self) -> Option<&Slot> {
        let take = |slot: &&Slot| slot.taken.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        self.slots.iter().find(take)
    }

    /// A thread without a slot has entered a plugin's code, or left it.
    pub(super) fn elsewhere(&self, inside: bool) {
        let word = self.word(Word::Elsewhere);
        if inside {
            word.fetch_add(1, Ordering::AcqRel);
        } else {
            word.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The only plugin whose code runs in some thread, 0 where there is none, or `SEVERAL`.
    fn active(&self) -> u64 {
        if self.word(Word::Elsewhere).load(Ordering::Acquire) > 0 {
            return SEVERAL;
        }
        let mut found = 0;
        for slot in &self.slots {
            let plugin = u64::from(slot.plugin.load(Ordering::Acquire));
            if plugin != 0 && found != 0 && plugin != found {
                return SEVERAL;
            }
            found = found.max(plugin);
        }
        found
    }

    fn record(&self, signal: c_int, address: u64, instruction: u64) {
        let set = |word: Word, value: u64| self.word(word).store(value, Ordering::Relaxed);
        let signal = u64::from(signal.unsigned_abs());
        set(Word::Last, signal);
        // The first signal is the cause; a second one, of another thread or of a handler, only a consequence.
        if self.word(Word::State).compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            set(Word::Signal, signal);
            set(Word::Address, address);
            set(Word::Instruction, instruction);
            set(Word::Active, self.active());
            set(Word::At, now());
            self.word(Word::State).store(2, Ordering::Release);
        }
    }
}

/// A word of a head that was read from a file.
pub(super) fn read(head: &[u8], word: Word) -> Option<u64> {
    let bytes = head.chunks_exact(mem::size_of::<u64>()).nth(word as usize)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// Shares memory of this process with this file, which is empty, and records there what ends the process. Once per
/// process.
pub(super) fn begin(mut file: &File) -> io::Result<&'static Shared> {
    // Real blocks: a page that the file system had no room for would be a SIGBUS of our own making.
    if !allocate(file) {
        file.write_all(&vec![0; LENGTH])?;
    }
    let shared = map(file)?;
    shared.word(Word::Magic).store(MAGIC, Ordering::Relaxed);
    shared.word(Word::Pid).store(u64::from(std::process::id()), Ordering::Relaxed);
    if SHARED.set(shared).is_err() {
        return Err(io::Error::other("it was begun before"));
    }
    install()?;
    Ok(shared)
}

#[cfg(target_os = "linux")]
fn allocate(file: &File) -> bool {
    // SAFETY: posix_fallocate(3) asks for a descriptor that is open, which that of a `File` is.
    unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, LENGTH as libc::off_t) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn allocate(_file: &File) -> bool {
    false
}

fn map(file: &File) -> io::Result<&'static Shared> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: mmap(2) without MAP_FIXED chooses a range that nothing else uses.
    let memory = unsafe { libc::mmap(ptr::null_mut(), LENGTH, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // A child that a plugin forks must not write here what the parent would be blamed for.
    #[cfg(target_os = "linux")]
    // SAFETY: it is the range that was mapped right above. The child gets other memory there in `after_fork`.
    unsafe {
        libc::madvise(memory, LENGTH, libc::MADV_DONTFORK);
        pthread_atfork(None, None, Some(after_fork));
    }
    // SAFETY: mmap(2) gave a range of this length, aligned to a page, which is never unmapped. `Shared` is made of
    // atomic integers, which any bytes are, whoever writes to the file.
    Ok(unsafe { &*memory.cast::<Shared>() })
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// POSIX: <https://pubs.opengroup.org/onlinepubs/9799919799/functions/pthread_atfork.html>.
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// Gives a forked child memory of its own where the shared one was: the end of its thread clears a breadcrumb.
#[cfg(target_os = "linux")]
extern "C" fn after_fork() {
    if let Some(shared) = SHARED.get() {
        let memory = ptr::from_ref(*shared).cast_mut().cast::<c_void>();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: MADV_DONTFORK left this very range unmapped in the child, which has no other thread yet.
        unsafe { libc::mmap(memory, LENGTH, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    }
}

fn install() -> io::Result<()> {
    // SAFETY: `sigaction` is a plain C struct, for which all zeros are a value.
    let mut previous: [libc::sigaction; SIGNALS.len()] = unsafe { mem::zeroed() };
    for ((signal, _), previous) in SIGNALS.iter().zip(&mut previous) {
        // SAFETY: sigaction(2) only writes the present action to a struct of that type.
        if unsafe { libc::sigaction(*signal, ptr::null(), previous) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // Before any handler can ask for them.
    let previous = PREVIOUS.get_or_init(|| previous);
    for ((signal, _), previous) in SIGNALS.iter().zip(previous) {
        let mut action = *previous;
        action.sa_sigaction = handle as *const () as usize;
        // On the stack that the standard library gives each of its threads for its own handler: a stack that is full
        // has no room for one. Threads of plugins have none, and stay on theirs.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the signature that SA_SIGINFO asks for, and calls only what signal-safety(7) lists, or
        // a system call, and reads statics that are set.
        if unsafe { libc::sigaction(*signal, &raw const action, ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Records the signal, then does what would have been done without it.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let saved = errno();
    // SAFETY: the system passes valid pointers to a handler that was installed with SA_SIGINFO; the fields are those
    // that sigaction(2) names for a signal of this origin.
    let (of_system, sender, address) = unsafe { ((*info).si_code > 0, (*info).si_pid(), (*info).si_addr()) };
    // SAFETY: getpid(2) always succeeds.
    let of_us = sender == unsafe { libc::getpid() };
    // What another process sends says nothing of the code that runs here, and what this one sends itself need not end
    // it, but for `abort`.
    if (of_system || (of_us && signal == libc::SIGABRT))
        && !lacks_memory()
        && let Some(shared) = SHARED.get()
    {
        let address = if of_system { address.addr() as u64 } else { 0 };
        shared.record(signal, address, instruction(context));
    }
    set_errno(saved);
    chain(signal, of_system, info, context);
}

fn chain(signal: c_int, of_system: bool, info: *mut libc::siginfo_t, context: *mut c_void) {
    let at = SIGNALS.iter().position(|(known, _)| *known == signal);
    let previous = at.and_then(|at| PREVIOUS.get()?.get(at));
    match previous {
        // Nobody can ignore what the code has just done: it would do it again at once.
        Some(previous) if previous.sa_sigaction == libc::SIG_IGN && !of_system => {}
        Some(previous) if ![libc::SIG_DFL, libc::SIG_IGN].contains(&previous.sa_sigaction) => {
            // SAFETY: sigaction(2) returned this as the handler that was installed, with the flag that says which of
            // the two signatures it has.
            unsafe {
                if previous.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        mem::transmute(previous.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = mem::transmute(previous.sa_sigaction);
                    handler(signal);
                }
            }
        }
        _ => by_default(signal, of_system),
    }
}

/// Ends the process by the signal. The instruction that caused it is run again, so that a core dump shows it; a signal
/// that was sent is sent again, and comes once the handler has returned.
fn by_default(signal: c_int, of_system: bool) {
    // SAFETY: all zeros are the default action with an empty mask; sigaction(2) and raise(3) may be called here, says
    // signal-safety(7).
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &raw const action, ptr::null_mut());
        if !of_system {
            libc::raise(signal);
        }
    }
}

/// Whether the process could not get memory that anybody may ask for.
fn lacks_memory() -> bool {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: mmap(2) chooses a range that nothing else uses, and that very range is given back.
    unsafe {
        let memory = libc::mmap(ptr::null_mut(), LACK_OF_MEMORY, access, flags, -1, 0);
        memory == libc::MAP_FAILED || libc::munmap(memory, LACK_OF_MEMORY) != 0
    }
}

/// The time in milliseconds since 1970.
fn now() -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: clock_gettime(2) writes to a struct of that type, of which all zeros are a value; signal-safety(7) lists
    // it.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_REALTIME, time.as_mut_ptr());
        time.assume_init()
    };
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0) * 1000 + nanoseconds.unwrap_or(0) / 1_000_000
}

/// Where the code was that got the signal; 0 where that is not known.
fn instruction(context: *mut c_void) -> u64 {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    // SAFETY: sigaction(2) says that the third argument of such a handler is a `ucontext_t`.
    return unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize].cast_unsigned() };
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    // SAFETY: as above.
    return unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc };
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = context;
        0
    }
}

fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn set_errno(value: c_int) {
    #[cfg(target_os = "linux")]
    // SAFETY: errno(3) is an integer of this thread.
    unsafe {
        *libc::__errno_location() = value;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = value;
}
