// SPDX-License-Identifier: GPL-2.0
#include <math.h>
#include <string.h>
#include <linux/minmax.h>

#include "curve.h"
#include "lib/text.h"

#define SMALLEST_SHARE	1024	/* of the largest size */
#define SMALLEST_UNITS	16
#define WORTH_SHARE	0.9
#define WORTH_LEAST	10.0	/* accesses of 100 saved, or none is worth it */

void sim_ladder_make(struct sim_ladder *ladder, u64 most, u64 unit)
{
	u64 bytes[SIM_CURVE_POINTS], next = most;
	unsigned int n = 0, i;

	do {
		bytes[n++] = next;
		next = (u64)((double)most * exp2(-0.5 * n)) / unit * unit;
	} while (n < SIM_CURVE_POINTS && next >= SMALLEST_UNITS * unit && next >= most / SMALLEST_SHARE);
	for (i = 0; i < n; i++)
		ladder->bytes[i] = bytes[n - 1 - i];
	ladder->nr = n;
}

int sim_curve_worth(const struct sim_curve *curve)
{
	unsigned int nr = curve->ladder.nr, i;
	double saved = 0;

	for (i = 0; i < nr; i++)
		saved = fmax(saved, 100 - curve->slow[i]);
	for (i = 0; saved >= WORTH_LEAST && i < nr; i++)
		if (100 - curve->slow[i] >= WORTH_SHARE * saved)
			return (int)i;
	return -1;
}

/* ---- drawing ---- */

#define HEIGHT	500	/* at least */
#define LEFT	70
#define RIGHT	660	/* right of it is the key */
#define TOP	50
#define BOTTOM	440
#define KEY_LINE	20
#define KEY_LETTER	7

/* can be told apart by most people who don't see all colours (Okabe, Ito) */
static const char * const colours[] = {
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442",
};

#define NR_COLOURS	(sizeof(colours) / sizeof(colours[0]))

/* What the axes reach: sizes in bytes, and accesses */
struct reach {
	u64 first;
	u64 last;
	double most;
};

static double x_of(const struct reach *a, u64 bytes)
{
	double octaves = log2((double)a->last / (double)a->first);

	if (octaves <= 0)
		return (LEFT + RIGHT) / 2.0;
	return LEFT + (RIGHT - LEFT) * log2((double)bytes / (double)a->first) / octaves;
}

static double y_of(const struct reach *a, double slow)
{
	return BOTTOM - (BOTTOM - TOP) * slow / a->most;
}

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '<')
			fputs("&lt;", out);
		else
			fputc(*text >= ' ' && *text <= '~' ? *text : '?', out);
	}
}

static void draw_label(FILE *out, double x, double y, const char *anchor, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	put_text(out, text);
	fputs("</text>\n", out);
}

static void draw_line(FILE *out, double x1, double y1, double x2, double y2)
{
	fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n", x1, y1, x2, y2);
}

static void draw_axes(FILE *out, const struct reach *a)
{
	char buf[TEXT_SIZE_LEN];
	double slow;
	u64 bytes;

	for (slow = 0; slow <= a->most; slow += a->most / 10) {
		draw_line(out, LEFT, y_of(a, slow), RIGHT, y_of(a, slow));
		snprintf(buf, sizeof(buf), "%.0f", slow);
		draw_label(out, LEFT - 8, y_of(a, slow) + 4, "end", buf);
	}
	/* powers of two, every second one if there are many */
	for (bytes = 512; bytes < a->first; bytes *= 2)
		;
	for (; bytes <= a->last && bytes; bytes *= a->last / a->first > 64 ? 4 : 2) {
		draw_line(out, x_of(a, bytes), TOP, x_of(a, bytes), BOTTOM);
		draw_label(out, x_of(a, bytes), BOTTOM + 18, "middle", text_size(bytes, buf));
	}
	draw_label(out, (LEFT + RIGHT) / 2.0, BOTTOM + 42, "middle", "size of the SSD");
	fprintf(out, "<text transform=\"translate(22 %d) rotate(-90)\" text-anchor=\"middle\">", (TOP + BOTTOM) / 2);
	fputs("accesses of the hard disk per 100 requests</text>\n", out);
}

/* The circle is at the size that is worth buying. */
static void draw_curve(FILE *out, const struct reach *a, const struct sim_curve *curve, unsigned int nth)
{
	const struct sim_ladder *l = &curve->ladder;
	const char *colour = colours[nth % NR_COLOURS];
	const char *dash = nth < NR_COLOURS ? "none" : "6 3";
	int worth = sim_curve_worth(curve);
	double y = TOP + 10 + KEY_LINE * nth;
	unsigned int i;

	fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" points=\"",
		colour, dash);
	for (i = 0; i < l->nr; i++)
		fprintf(out, "%s%.1f,%.1f", i ? " " : "", x_of(a, l->bytes[i]), y_of(a, curve->slow[i]));
	fputs("\"/>\n", out);
	if (worth >= 0)
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", x_of(a, l->bytes[worth]),
			y_of(a, curve->slow[worth]), colour);
	fprintf(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\"", RIGHT + 15,
		y - 4, RIGHT + 40, y - 4, colour);
	fprintf(out, " stroke-dasharray=\"%s\"/>\n", dash);
	draw_label(out, RIGHT + 48, y, "start", curve->label);
}

void sim_curve_svg(FILE *out, const char *title, const struct sim_curve *curves, unsigned int nr)
{
	struct reach a = { .first = U64_MAX, .most = 100 };
	const struct sim_ladder *l;
	double letters = 0;
	unsigned int i, k;

	for (i = 0; i < nr; i++) {
		l = &curves[i].ladder;
		letters = fmax(letters, (double)strlen(curves[i].label));
		a.first = min(a.first, l->bytes[0]);
		a.last = max(a.last, l->bytes[l->nr - 1]);
		for (k = 0; k < l->nr; k++)
			a.most = fmax(a.most, ceil(curves[i].slow[k] / 50) * 50);
	}
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\"",
		RIGHT + 60 + KEY_LETTER * letters, fmax(HEIGHT, TOP + KEY_LINE * (nr + 1)));
	fputs(" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", out);
	draw_label(out, LEFT, 28, "start", title);
	draw_axes(out, &a);
	for (i = 0; i < nr; i++)
		draw_curve(out, &a, &curves[i], i);
	fputs("</svg>\n", out);
}
