/* What an order of work is to the decoder, and the parts of a step that the decoder offers it. */
#ifndef MODEL_DECODER_ORDER_H
#define MODEL_DECODER_ORDER_H

#include "model/decoder.h"

struct decoder_order {
    const char *name;
    size_t (*fed)(const decoder_options *options);      /* columns of the cell's input behind E y */
    size_t (*features)(const decoder_options *options); /* F, of the readout */

    /* Parameters of its own. */
    void (*declare)(decoder *layer, parameter_table *table);

    /* Lays out features, state, output, context, embedded, asking, fed and trace.previous; and their gradients. */
    void (*layout)(const decoder *layer, decoder_workspace *work, arena *space, size_t rows);
    void (*layout_gradient)(const decoder *layer, decoder_workspace *work, arena *space, size_t rows);

    /* One step, whose rows start at `first` and have their previous state and embedded token. */
    void (*step)(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows);

    /* All steps; backward down to the gates, to attention's queries and keys, and to work->carry at s_0. */
    void (*forward)(const decoder *layer, const weights_view *theta, decoder_workspace *work, const sequences *target);
    void (*backward)(const decoder *layer, const weights_view *theta, real *dtheta, decoder_workspace *work,
                     const sequences *target);
};

/*
 * Features that lie side by side, [s ; c ; E y]: their number; their layout, which gives the columns of s and lays out
 * features, context and embedded; that of their gradients. Where the readout sees no E y, embedded lies apart, and its
 * gradient starts from zero (decoder_clear_unread).
 */
size_t decoder_joined_features(const decoder_options *options);
columns decoder_layout_joined(const decoder *layer, decoder_workspace *work, arena *space, size_t rows);
void decoder_layout_joined_gradient(const decoder *layer, decoder_workspace *work, arena *space, size_t rows);
void decoder_clear_unread(const decoder *layer, decoder_workspace *work, size_t rows);

/* What `forward` is where a step needs all of the one before: the order's steps, one after another. */
void decoder_forward_steps(const decoder *layer, const weights_view *theta, decoder_workspace *work,
                           const sequences *target);

/* Sets s_{t-1}, and what is fed of the step before, of the rows of step t. */
void decoder_continue(const decoder *layer, decoder_workspace *work, const sequences *target, size_t t);

/* Asks attention for rows first .. first+rows-1; and from its queries back to the states that asked, ds[rows, stride],
 * adding. */
void decoder_ask(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows);
void decoder_ask_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, real *ds,
                          size_t stride, size_t first, size_t rows);

/* s_t of rows first .. first+rows-1, from their gates' embedded part, what is fed, and s_{t-1}; and the layers above.
 */
void decoder_update(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first,
                    size_t rows);

/* work->carry goes from s_t to s_{t-1}; dfed[rows, stride], unless NULL, is added to. */
void decoder_update_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, real *dfed,
                             size_t stride, size_t first, size_t rows);

/* From doutput[rows, stride] through the layers above to work->carry. */
void decoder_output_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work,
                             const real *doutput, size_t stride, size_t first, size_t rows);

/* work->carry += gradient[rows, stride] */
void decoder_carry(const decoder *layer, decoder_workspace *work, const real *gradient, size_t stride, size_t rows);

#endif
