/** The whole public interface of libnmt. */
#ifndef NMT_NMT_H
#define NMT_NMT_H

#include <nmt/config.h>
#include <nmt/diagnostics.h>
#include <nmt/error.h>
#include <nmt/evaluate.h>
#include <nmt/explain.h>
#include <nmt/gradcheck.h>
#include <nmt/io.h>
#include <nmt/links.h>
#include <nmt/model.h>
#include <nmt/report.h>
#include <nmt/score.h>
#include <nmt/train.h>
#include <nmt/translate.h>
#include <nmt/version.h>

#endif
