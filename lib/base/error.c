/* Error messages, per thread, and texts of error codes. */
#include <lib/base/base.h>

#include <locale.h>
#include <stdarg.h>

/* ---- messages ---- */

static _Thread_local char message[1024];

const char *gnn_error_message(void)
{
    return message;
}

/* Replaces control characters by '?': names come from files and must not steer a terminal or fake
 * a line of a log. */
static void sanitise(void)
{
    unsigned char *c = (unsigned char *)message;
    for (; *c; c++)
        if (*c < 32 || *c == 127)
            *c = '?';
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            *c = c[1] = '?';
}

void gnn__set_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    sanitise();
}

/* Removes a place of `length` bytes, with its colon, where it is a whole part of a message. */
static void remove_place(char *text, const char *place, size_t length)
{
    for (char *at = text; at; at = (at = strstr(at, ": ")) ? at + 2 : NULL)
        if (strncmp(at, place, length) == 0 && strncmp(at + length, ": ", 2) == 0) {
            memmove(at, at + length + 2, strlen(at + length + 2) + 1);
            return;
        }
}

/* Each place is in a message once, the outermost: what reads a file names it, and so does what
 * called for the file. */
int gnn__error_prefix(int code, const char *format, ...)
{
    char prefix[512], rest[sizeof message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    memcpy(rest, message, sizeof rest);
    for (const char *place = prefix, *end; *place; place = *end ? end + 2 : end) {
        end = strstr(place, ": ");
        end = end ? end : place + strlen(place);
        remove_place(rest, place, (size_t)(end - place));
    }
    snprintf(message, sizeof message, "%s: %.500s", prefix, rest);
    sanitise();
    return code;
}

void gnn__append_name(char *text, size_t size, const char *between, const char *name)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? between : "", name);
}

int gnn__unknown_name(const char *what, const char *name, const char *(*at)(size_t index))
{
    char names[512] = "";
    for (size_t k = 0; at(k); k++)
        gnn__append_name(names, sizeof names, ", ", at(k));
    return gnn__error(GNN_ENOTFOUND, "no %s is called \"%.40s\"; there are: %s", what,
                      name ? name : "", names);
}

/* ---- the C locale ---- */

/* Formatting in the C locale. */

int gnn__snprintf_c(char *out, size_t size, const char *format, ...)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return gnn__error(GNN_EMEMORY, "the C locale: no memory");
    locale_t before = uselocale(c);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out, size, format, arguments);
    va_end(arguments);
    uselocale(before);
    freelocale(c);
    return GNN_OK;
}

/* ---- codes ---- */

/* Texts of error codes. Codes 1 to 999 are igraph's; the core knows them without igraph, whose own
 * messages come from libgnn-igraph. */

/* igraph's enumeration of error codes; NULL for codes that igraph does not use. */
static const char *const igraph_errors[] = {
    [1] = "igraph: failure",
    [2] = "igraph: out of memory",
    [3] = "igraph: a file cannot be parsed",
    [4] = "igraph: invalid value",
    [5] = "igraph: already exists",
    [6] = "igraph: invalid vector of edges",
    [7] = "igraph: invalid node id",
    [8] = "igraph: the matrix is not square",
    [9] = "igraph: invalid mode",
    [10] = "igraph: reading or writing a file failed",
    [12] = "igraph: not implemented",
    [13] = "igraph: interrupted",
    [14] = "igraph: no convergence",
    [37] = "igraph: a cycle of negative weight",
    [38] = "igraph: internal error",
    [42] = "igraph: division by zero",
    [51] = "igraph: an attribute is not as its handler expects",
    [52] = "igraph: attributes of this type cannot be combined in this way",
    [53] = "igraph: LAPACK failed",
    [54] = "igraph: DrL layout failed",
    [55] = "igraph: overflow",
    [56] = "igraph: GLPK failed",
    [57] = "igraph: out of processor time",
    [58] = "igraph: underflow",
    [59] = "igraph: a random walk is stuck",
    [60] = "igraph: stopped",
    [61] = "igraph: the result is out of range",
    [62] = "igraph: there is no solution",
};

static const char *igraph_error_string(int code)
{
    const size_t count = sizeof igraph_errors / sizeof igraph_errors[0];
    if ((code >= 15 && code <= 36) || (code >= 39 && code <= 41))
        return "igraph: ARPACK failed";
    if (code >= 43 && code <= 50)
        return "igraph: GLPK failed";
    return (size_t)code < count && igraph_errors[code] ? igraph_errors[code]
                                                       : "igraph: unknown error";
}

const char *gnn_error_string(int code)
{
#define CASE(name, value, text) \
    case value: return text;
    switch (code) {
        GNN_ERROR_CODES(CASE)
    default: return code > 0 && code < 1000 ? igraph_error_string(code) : "unknown error";
    }
#undef CASE
}
