/*
 * OpenBLAS with the right kernels: where it chose poorly for this processor, or the user asked for others, the program
 * starts itself again with OPENBLAS_CORETYPE set, before it has read or written anything.
 */
#ifndef CLI_KERNELS_H
#define CLI_KERNELS_H

/* Once, from main: the program's own arguments, to start again with. */
void kernels_remember_arguments(char **argv);

/* Sees to what `wish` (the value of --blas-core) asks for. Returns 0 to go on, or the exit status behind a message;
 * or the program starts again and this does not return. */
int kernels_settle(const char *wish);

#endif
