/* The loops for AArch64 with products of four int8: Arm servers of 2019, Apple's M1, and later. */
#if defined(__aarch64__)
#include <arm_neon.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
#define LEVEL dotprod
#define HAS_DOTPROD 1
#include "families.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
