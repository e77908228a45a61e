/* What every family of loops shares. A family is a .c file that families.h includes; levels compile
   families.h once for each instruction set, with the name of the level after each exported name. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JOINED_(name, level) name##_##level
#define JOINED(name, level) JOINED_(name, level)
/* An exported function: void EXPORT(name)(...). */
#define EXPORT(name) __attribute__((visibility("default"))) JOINED(name, LEVEL)

/* Keeps vector instructions in the order of the source, which needs no more registers than there
   are; compilers load ahead, and then spill. */
#define IN_ORDER(vector) __asm__ volatile("" : "+x"(vector))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
