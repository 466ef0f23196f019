/* The message of the last failure, kept per thread. */
#include <lib/base/base.h>

#include <stdarg.h>

static _Thread_local char message[1024];

const char *gnn_error_message(void)
{
    return message;
}

/* Names come from files: what steers a terminal, or would look like another line of a log, becomes
 * '?'. */
static void clean(void)
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
    clean();
}

const char *gnn__public_name(const char *function)
{
    static _Thread_local char name[64];
    static const char ending[] = "_sized";
    const size_t length = strlen(function), cut = sizeof ending - 1;
    const bool sized = length > cut && strcmp(function + length - cut, ending) == 0;
    snprintf(name, sizeof name, "%.*s", (int)(sized ? length - cut : length), function);
    return name;
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
    clean();
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
