/* An empty module of Python, so that setuptools builds and places the library, and the choice of the
   level for this processor. The loops are called by ctypes, not by Python's interface. */
#define Py_LIMITED_API 0x030a0000
#include <Python.h>

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_library", 0, -1, 0, 0, 0, 0, 0};

PyMODINIT_FUNC PyInit__library(void) { return PyModule_Create(&definition); }

#if defined(__aarch64__) && !defined(__APPLE__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>

/* Sets of registers that the system saves: bits of the register XCR0. */
static unsigned saved(void) {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

/* Names of the levels that this processor can run, the fastest first, with commas between. */
__attribute__((visibility("default"))) const char *miner_levels(void) {
#if defined(__x86_64__)
    const unsigned v2 = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, OSXSAVE, AVX, F16C */
    const unsigned v3 = 1u << 3 | 1u << 5 | 1u << 8;               /* BMI, AVX2, BMI2 */
    const unsigned v4 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* AVX-512 F, DQ, BW, VL */
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & v2) == v2 && (saved() & 0x06) == 0x06 &&
        __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & v3) == v3) {
        if ((b & v4) == v4 && (c & 1u << 11) && (saved() & 0xE6) == 0xE6) /* and VNNI */
            return "vnni,avx2,generic";
        return "avx2,generic";
    }
#elif defined(__APPLE__) /* for Arm; each of its processors has them */
    return "dotprod,generic";
#elif defined(__aarch64__)
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) return "dotprod,generic";
#endif
    return "generic";
}
