/* The loops for processors with AVX2, of 2013 (Intel), 2015 (AMD) and later. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,f16c,fma,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,f16c,fma,lzcnt,popcnt")
#endif
#define LEVEL avx2
#define HAS_AVX2 1
#include "families.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
