//! Output for debugging: `host run-plugin`, `host plugin test` and `host convert -V` show it. In all other commands, it
//! is dropped.

/// Shows a text. On WASI, the host shows standard error in the same way, and the linker of `wasm32-wasip2` accepts no
/// import that is not in the world.
pub fn print(text: &str) {
    #[cfg(all(target_arch = "wasm32", not(target_os = "wasi")))]
    {
        #[link(wasm_import_module = "boson:types/console@1.0.0")]
        unsafe extern "C" {
            #[link_name = "print"]
            fn write(text: *const u8, length: usize);
        }
        // SAFETY: the address and the length are those of the text, which is only read.
        unsafe { write(text.as_ptr(), text.len()) }
    }
    #[cfg(any(not(target_arch = "wasm32"), target_os = "wasi"))]
    eprint!("{text}");
}

/// Shows the text of panics from now on. The `export!` macros call it first in each function, because each call runs in
/// a new instance.
pub fn show_panics() {
    std::panic::set_hook(Box::new(|panic| print(&format!("{panic}\n"))));
}
