/* The one place that knows SentencePiece; see piece_library.h. */
#include "data/piece_library.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sentencepiece
{
namespace logging
{
void SetMinLogLevel(int level); /* exported, but in no installed header */
} // namespace logging
} // namespace sentencepiece

namespace
{

using sentencepiece::SentencePieceProcessor;
using sentencepiece::SentencePieceTrainer;
using sentencepiece::util::Status;

const int silent = 4; /* above the level of every message */

bool fail(piece_message *why, const char *text)
{
    std::snprintf(why->text, sizeof why->text, "%s", text);
    return false;
}

bool check(const Status &status, piece_message *why)
{
    return status.ok() || fail(why, status.error_message());
}

/* Runs `work`, a function that returns bool; what it throws becomes a failure. */
template <typename Work> bool guarded(piece_message *why, Work work)
{
    try {
        return work();
    } catch (const std::exception &thrown) {
        return fail(why, thrown.what());
    } catch (...) {
        return fail(why, "an unknown exception");
    }
}

class lines : public sentencepiece::SentenceIterator
{
  public:
    lines(piece_lines next, void *context) : next_(next), context_(context)
    {
        lines::Next();
    }

    bool done() const override
    {
        return done_;
    }

    void Next() override
    {
        const char *text = nullptr;
        size_t length = 0;
        done_ = !next_(context_, &text, &length);
        line_.assign(done_ ? "" : text, done_ ? 0 : length);
    }

    const std::string &value() const override
    {
        return line_;
    }

    Status status() const override
    {
        return Status();
    }

  private:
    piece_lines next_;
    void *context_;
    std::string line_;
    bool done_ = false;
};

/* Text stays as it is; no piece stands for the ends of a sentence; every line counts; one thread, so that the machine
 * does not show in the sums. */
bool train(const piece_training *how, piece_lines next, piece_sink take, void *context, piece_message *why)
{
    return guarded(why, [&] {
        char coverage[32];
        std::snprintf(coverage, sizeof coverage, "%.9g", how->coverage);
        const std::unordered_map<std::string, std::string> options = {
            {"model_type", how->type},
            {"vocab_size", std::to_string(how->size)},
            {"character_coverage", coverage},
            {"normalization_rule_name", "identity"},
            {"unk_id", "0"},
            {"bos_id", "-1"},
            {"eos_id", "-1"},
            {"pad_id", "-1"},
            {"max_sentence_length", std::to_string(1 << 30)},
            {"num_threads", "1"},
            {"minloglevel", std::to_string(silent)},
        };
        lines text(next, context);
        std::string model;
        return check(SentencePieceTrainer::Train(options, &text, &model), why) &&
               (take(context, model.data(), model.size()) || fail(why, "out of memory"));
    });
}

bool open(void **opened, const char *model, size_t size, piece_message *why)
{
    return guarded(why, [&] {
        sentencepiece::logging::SetMinLogLevel(silent);
        std::unique_ptr<SentencePieceProcessor> made(new SentencePieceProcessor());
        if (!check(made->LoadFromSerializedProto(std::string_view(model, size)), why)) {
            return false;
        }
        *opened = made.release();
        return true;
    });
}

bool restrict_to(void *opened, const char *const *pieces, size_t count, piece_message *why)
{
    return guarded(why, [&] {
        const std::vector<std::string_view> valid(pieces, pieces + count);
        return check(static_cast<SentencePieceProcessor *>(opened)->SetVocabulary(valid), why);
    });
}

bool encode(const void *opened, const char *text, size_t length, piece_sink take, void *context, piece_message *why)
{
    return guarded(why, [&] {
        std::vector<std::string> pieces;
        const SentencePieceProcessor *by = static_cast<const SentencePieceProcessor *>(opened);
        if (!check(by->Encode(std::string_view(text, length), &pieces), why)) {
            return false;
        }
        for (const std::string &piece : pieces) {
            if (!take(context, piece.data(), piece.size())) {
                return fail(why, "out of memory");
            }
        }
        return true;
    });
}

void close(void *opened)
{
    delete static_cast<SentencePieceProcessor *>(opened);
}

} // namespace

extern "C" {
extern __attribute__((visibility("default"))) const piece_library nmt_piece_library;
const piece_library nmt_piece_library = {PIECE_LIBRARY_INTERFACE, train, open, restrict_to, encode, close};
}
