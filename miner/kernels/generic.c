/* The loops for any processor: x86-64 of 2003, AArch64. */
#define LEVEL generic
#include "families.h"
