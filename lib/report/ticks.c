/* Ticks of an axis: round steps, and how many decimals tell them apart. */
#include "svg.h"

#include <math.h>

/* The step 1, 2 or 5 times a power of ten that cuts `span` into about `want` pieces. */
static double round_step(double span, int want)
{
    double rough = span / want, power = pow(10, floor(log10(rough))), f = rough / power;
    return power * (f < 1.5 ? 1 : f < 3.5 ? 2 : f < 7.5 ? 5 : 10);
}

/* Decimals that tell multiples of `step` apart, or minus the digits where an exponent is
 * shorter. */
static int precision(double step, double largest)
{
    double decimals = -floor(log10(step) + 1e-9), digits = 1 - floor(-log10(largest / step));
    if (largest < 1e6 && decimals <= 5)
        return decimals > 0 ? (int)decimals : 0;
    return -(int)gnn__smaller(gnn__higher(digits, 1), 15);
}

int gnn__ticks(double low, double high, int want, double ticks[GNN__TICKS], int *decimals)
{
    double largest = gnn__higher(fabs(low), fabs(high));
    double unit = largest > 1e300 ? 0.25 : 1; /* keeps the span of -DBL_MAX .. DBL_MAX finite */
    double span = high * unit - low * unit;
    *decimals = -3;
    if (!(span > largest * unit * 1e-12) || largest < 1e-290) {
        ticks[0] = low;
        return 1;
    }
    double step = round_step(span, want);
    int n = 0;
    for (double k = -floor(1e-9 - low * unit / step); n < GNN__TICKS; k++) {
        if (k * step > high * unit + step * 1e-9)
            break;
        ticks[n++] = k == 0 ? 0 : k * step / unit;
    }
    *decimals = precision(step / unit, largest);
    return n;
}

void gnn__tick_label(char label[32], double value, int decimals)
{
    if (decimals >= 0)
        snprintf(label, 32, "%.*f", decimals, value);
    else
        snprintf(label, 32, "%.*g", -decimals, value);
}
