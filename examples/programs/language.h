/* The small language of sentence.c: subject-verb agreement across distracting nouns. */
#ifndef LANGUAGE_H
#define LANGUAGE_H

#include <stdint.h>

enum { MAX_WORDS = 40 };

/* A sentence with its verb masked. The verb must agree with `subject`, the first noun; every noun
 * after it is in a prepositional phrase and may be singular or plural. Half of the sentences are
 * questions, where the verb comes before the subject. */
typedef struct {
    int32_t words[MAX_WORDS];
    int length, verb, subject; /* positions */
    int plural;                /* target: 0 is, 1 are */
    int question;
} sentence_t;

int language_size(void);
const char *language_word(int32_t word);
/* The next sentence of a random sequence; `state` is its seed. */
sentence_t language_sentence(uint64_t *state);

#endif
