#ifndef CLI_STANDARD_FILES_H
#define CLI_STANDARD_FILES_H

/* Fills the places of standard streams that the caller closed, so that no file of ours gets their numbers and a message
 * is never written into a model. Reading such an input and writing such an output still fail; messages go nowhere. */
void standard_files_fill(void);

#endif
