/* Error codes in words, and the message of the last failure, kept per thread. */
#include <gnn/error.h>
#include <lib/base/base.h>

#include <stdarg.h>

static _Thread_local char message[1024];

/* Named by graphs/igraph where it is built in; 0 otherwise. */
const char *gnn__igraph_strerror(int code) __attribute__((weak));

static const char *igraph_words(int code)
{
    const char *words = gnn__igraph_strerror ? gnn__igraph_strerror(code) : NULL;
    return words ? words : "an error of igraph";
}

const char *gnn_error_string(int code)
{
#define CASE(name, value, text) \
    case value: return text;
    switch (code) {
        GNN_ERROR_CODES(CASE)
    default: return code > 0 && code < 1000 ? igraph_words(code) : "unknown error";
    }
#undef CASE
}

const char *gnn_error_message(void)
{
    return message;
}

void gnn__set_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
}

int gnn__error_prefix(int code, const char *format, ...)
{
    char prefix[512], rest[sizeof message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    memcpy(rest, message, sizeof rest);
    snprintf(message, sizeof message, "%s: %.500s", prefix, rest);
    return code;
}
