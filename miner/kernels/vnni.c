/* The loops for processors with AVX-512 VNNI, of 2019 (Intel), 2022 (AMD) and later. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,f16c,fma,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,f16c,fma,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif
#define LEVEL vnni
#define HAS_AVX2 1
#define HAS_VNNI 1
#include "families.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
