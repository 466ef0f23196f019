/* Colours: a scale for numbers and a list for classes. */
#include "svg.h"

/* Every fifteenth entry of the 256 that matplotlib ships. */
static const uint32_t viridis[] = {0x440154, 0x481769, 0x472a7a, 0x433d84, 0x3d4e8a, 0x355e8d,
                                   0x2e6d8e, 0x297b8e, 0x23898e, 0x1f978b, 0x21a585, 0x2eb37c,
                                   0x46c06f, 0x65cb5e, 0x89d548, 0xb0dd2f, 0xd8e219, 0xfde725};

/* Okabe & Ito 2008, the most distinct pair first; their black is a dark grey here, so that it is
 * not taken for text. */
static const uint32_t okabe_ito[GNN__CLASS_COLOURS] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
                                                       0x56b4e9, 0xd55e00, 0xf0e442, 0x4d4d4d};

static gnn__colour_t unpack(uint32_t rgb)
{
    return (gnn__colour_t){(unsigned char)(rgb >> 16), (unsigned char)(rgb >> 8 & 255),
                           (unsigned char)(rgb & 255)};
}

static unsigned char mix(unsigned char a, unsigned char b, double t)
{
    return (unsigned char)(a + (b - a) * t + 0.5);
}

gnn__colour_t gnn__viridis(double t)
{
    const int last = (int)(sizeof viridis / sizeof *viridis) - 1;
    double place = (t < 0 ? 0 : t > 1 ? 1 : t) * last;
    int k = (int)place < last ? (int)place : last - 1;
    gnn__colour_t a = unpack(viridis[k]), b = unpack(viridis[k + 1]);
    double f = place - k;
    return (gnn__colour_t){mix(a.red, b.red, f), mix(a.green, b.green, f), mix(a.blue, b.blue, f)};
}

gnn__colour_t gnn__class_colour(int64_t k)
{
    return unpack(okabe_ito[k % GNN__CLASS_COLOURS]);
}

const char *gnn__colour_ink(gnn__colour_t c)
{
    double luma = 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
    return luma > 130 ? "#111111" : "#ffffff";
}
