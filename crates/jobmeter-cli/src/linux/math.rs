//! The dozen functions of the C mathematics library that plots and advice use, under their C names. With them
//! here, the shared library is not loaded at all: 0.3 MB and its relocation less for every `jobmeter run`.
//! A function that is missing here is taken from the shared library as usual.

macro_rules! as_c {
    ($($name:ident($($argument:ident: $type:ty),+);)+) => {
        $(
            // SAFETY: the name and signature are the C library's own, and so is the meaning.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),+) -> as_c!(@first $($type),+) {
                libm::$name($($argument),+)
            }
        )+
    };
    (@first $first:ty $(, $rest:ty)*) => { $first };
}

as_c! {
    exp(x: f64);
    exp2(x: f64);
    expm1(x: f64);
    log(x: f64);
    log10(x: f64);
    pow(x: f64, y: f64);
    cos(x: f64);
    acos(x: f64);
    cosf(x: f32);
    acosf(x: f32);
    powf(x: f32, y: f32);
    hypotf(x: f32, y: f32);
    tanf(x: f32);
}

/// A GNU extension that compilers make of a sine beside a cosine.
///
/// # Safety
/// As in C: both pointers are valid for writing.
// SAFETY: the name and signature are the C library's own, and so is the meaning.
#[unsafe(no_mangle)]
unsafe extern "C" fn sincosf(x: f32, sine: *mut f32, cosine: *mut f32) {
    let (sin, cos) = libm::sincosf(x);
    // SAFETY: by the contract of the function.
    unsafe {
        *sine = sin;
        *cosine = cos;
    }
}
