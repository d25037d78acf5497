/* Links in their order, for what works on them. */
#ifndef METRICS_LINK_ORDER_H
#define METRICS_LINK_ORDER_H

#include <nmt/links.h>

#include "core/error.h"

/* By target token, then by source token; for qsort. */
int link_compare(const void *left, const void *right);
void links_sort(nmt_links *links);

/* At the end; the caller keeps the order. */
nmt_status links_add(nmt_links *links, nmt_link link, nmt_error *error);

/* Number of the link between the two tokens, or links->count. */
size_t links_find(const nmt_links *links, uint32_t source, uint32_t target);

#endif
