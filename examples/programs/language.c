/* The generated language of `sentence`: a masked verb agrees with its subject. */
#include "language.h"

static const char *const words[] = {
    "[is|are]", "the", "my", "your", "her", "near", "of", "behind", "beside", "above", "with",
    "old", "red", "small", "heavy", "new", "today", "perhaps", "here", "lost", "nice", "ready",
    /* nouns: singular, plural, singular, plural ... */
    "key", "keys", "cabinet", "cabinets", "sister", "sisters", "dog", "dogs", "book", "books",
    "house", "houses", "teacher", "teachers", "letter", "letters", "garden", "gardens", "window",
    "windows", "friend", "friends", "boat", "boats", "picture", "pictures", "table", "tables",
    "tree", "trees", "river", "rivers"};

enum {
    VERB = 0,
    DETERMINER = 1,
    PREPOSITION = 5,
    ADJECTIVE = 11,
    ADVERB = 16,
    ENDING = 18,
    NOUN = 22,
    WORDS = (int)(sizeof words / sizeof *words)
};

int language_size(void)
{
    return WORDS;
}

const char *language_word(int32_t word)
{
    return word >= 0 && word < WORDS ? words[word] : "?";
}

static int draw(uint64_t *state, int below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int)((*state >> 33) % (uint64_t)below);
}

static void say(sentence_t *s, int32_t word)
{
    s->words[s->length++] = word;
}

/* Determiner, up to two adjectives, noun; returns the noun's position. */
static int noun_phrase(sentence_t *s, uint64_t *state, int plural)
{
    say(s, DETERMINER + draw(state, PREPOSITION - DETERMINER));
    for (int k = draw(state, 3); k > 0; k--)
        say(s, ADJECTIVE + draw(state, ADVERB - ADJECTIVE));
    say(s, NOUN + 2 * draw(state, (WORDS - NOUN) / 2) + plural);
    return s->length - 1;
}

sentence_t language_sentence(uint64_t *state)
{
    sentence_t s = {.question = draw(state, 2), .plural = draw(state, 2)};
    for (int k = draw(state, 3); k > 0; k--)
        say(&s, ADVERB + draw(state, ENDING - ADVERB));
    if (s.question) {
        s.verb = s.length;
        say(&s, VERB);
    }
    s.subject = noun_phrase(&s, state, s.plural);
    for (int k = draw(state, 6); k > 0; k--) { /* distractors */
        say(&s, PREPOSITION + draw(state, ADJECTIVE - PREPOSITION));
        noun_phrase(&s, state, draw(state, 2));
    }
    if (!s.question) {
        s.verb = s.length;
        say(&s, VERB);
    }
    say(&s, ENDING + draw(state, NOUN - ENDING));
    return s;
}
