/* Numbers as the C locale writes them. */
#include <lib/base/base.h>

#include <locale.h>
#include <stdarg.h>

int gnn__snprintf_c(char *out, size_t size, const char *format, ...)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return gnn__error(GNN_EMEMORY, "no memory for the C locale");
    locale_t before = uselocale(c);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out, size, format, arguments);
    va_end(arguments);
    uselocale(before);
    freelocale(c);
    return GNN_OK;
}
