/* page.html as text that ends with NUL, made by the build. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

extern const char report_page[];

#endif
