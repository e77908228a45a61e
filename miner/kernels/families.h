/* All families of loops, compiled for one level. */
#include "library.h"
#include "half.h"
#include "sort.h"

#include "unigram.c"
#include "pool.c"
#include "exact.c"
#include "search.c"
#include "dots.c"
#include "tokens.c"
#include "model1.c"
#include "beads.c"
