/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates how often bytes occur in source code, logs and JSON, for the generator of the tables.
 *
 * Text is a chain in which each byte depends on the one before: "oken" is frequent, "qken" is not,
 * although q is no rarer than other letters.  The numbers were counted in 39 MB of C, Python, build
 * logs and JSON.
 *
 * Should:   estimate; the tables are correct with any numbers.
 * Must not: be linked into the library.
 * Fails:    never. */
#include "leak/pattern.h"

#include <string.h>

/* Bytes with a row and a column of their own.  '0' stands for all digits, 'A' for all capitals;
 * the last row and column for all other bytes. */
static const char symbols[] = " \netaoinsrlcdupmfhgbykxwvjqz0A_./,:;-=()\"'*>";
#define SYMBOLS sizeof symbols
#define OTHERS 160.0 /* bytes without a symbol of their own, as if they were equally frequent */

/* The frequency of each symbol per 10,000 bytes. */
static const unsigned short alone[SYMBOLS] = {
	1661, 274, 645, 513, 345, 329, 368, 381, 348, 359, 228, 212, 208, 171, 161,
	130,  143, 124, 91,  74,  73,  34,  50,  44,  66,  7,   9,   16,  221, 1172,
	300,  85,  129, 103, 49,  64,  95,  44,  91,  92,  42,  12,  112, 28,  298,
};

/* The frequency of a symbol (column) after another (row): A is 1, each further letter the square
 * root of a half of the one before. */
static const char after[SYMBOLS][SYMBOLS + 1] = {
	"DYNJLMKNLMNLNONOMPPMUSSONWXXLHLUMZRZOMNXOSKUJ",
	"CGPMYZQSNZYOTURXWZXVZZZZTZZZOMRZIZZZZZZSXZUZD",
	"FNNILQPHIGLKIUNLIVMRPYKQOZOZRKLNTMQOQZMNRUVQN",
	"FOGNIIHVKHOONJPSSGYXJZSQXZZZOJLNSMROQVMNRTVSN",
	"KSXFTZLHHGGIKNLIQYKLMOPQNWYWURQQWQUUTZTRWYZZT",
	"JRPJOKJELFJJJJJJJZONVPPLMSZZWPPRWSVURZTTUYZWU",
	"OYLHMHZEHKJIJZNLIZKLZUPYMZTKRTSUXUYWWZXTZZZWQ",
	"GPGGIJLOGTNJHKOSMWIVQPYWNYZZRMNNTNRQQZNPQRZVQ",
	"FNGEMLHRJPQMWLLRSLRVOOXQSZWUQLLKPMPOPYNMQTXSN",
	"GPFKHIIIKKPMLJRMQTLSLPXPPZYZPLMNUNQPQSNOTUTQN",
	"IOFKHHGVKTGTKIOWNSSRKSYRLZZYQKMNUNPRRYNPRUXTP",
	"JSHFHELRPLIMTMPQWHUVNIRWQZYZSMMOPPPSRZRPQXZSS",
	"FMDQKKISLMNTKNRTSXOQQZQTRUYZMKKMSMLOPULMPUUSO",
	"PXHHLTJGHGIHKYKIMVNKZYPXYZYQLVQTZUZXXZZVYZZZY",
	"KREIGILPMHHOPJKPRNSVLRWUSZUUOMMOPMRQQYNNTWTNP",
	"HQESGIIULVLQLLGKVYYKUSXWQZYZOKLKONRRRZPPUVVTR",
	"EMKLJGEMLKKRMKSQJZWWOZZVSZZZOONOXPTTOZMQPVYVO",
	"HPDLFIGUNLTXSPVOUXWWPZZVXZZZPMMOQMSPRYNOMVZNP",
	"GOELLKHHJJJNUKQOUKQVTZZXQZZWQJLLPNQQNXNNRTWRO",
	"ORFPHGITLJGMQHORSVPPISQTTKZWMLMORNUSOZTPOVXZR",
	"EMOKRMOMJNOQXUDKWWWQZZYUYZZUTIJLTJPNQRKLNSQPM",
	"GNEPKPIMIVPQQNSTQROLWUYNRZZWLIILMLPMNTJLOSRSN",
	"JQIFKRKUNVUJSQHJNXZUQRNZRZYZFJKKNKPOOWNKQTWTO",
	"HPITFHFJKJQQPUTPWHUTZRZPWZWVSLKLSLRPMYOMQVYXP",
	"NUDOFGHUNQLQSSTHOWSTZTOSLZWZLNNOSPQTQXROTWZZO",
	"KWDSJHMSGUUPSHNQSZWWZUZVVZUXMMNLZIYOOZQLUUXPO",
	"KQSVQUQQLNPVPBRTQUTOZZUSUZTZPJJNYLULOZLNSWZRM",
	"OSBZJOOZRYRVWSWVVVZWOZQZZZZJTTJQMNWTVZUNUVZZT",
	"HJUXTXTTUZUUQQWYRZZSZTJZXZZZDJIJQJKLKZPJQRXQJ",
	"KPKNLLMMPNORQNORROZSOWRVUZXZMBHRVNSSSWPOUVXUO",
	"STMILNKMKLMKMMKMLOOMSQOPMUUVNCGWZWZVZZRTZZWZU",
	"HFLLKLMMJLMJMPJMMILNWPRNKPUWHKMJNSZZZZVPPUUSP",
	"FFRNPRQSNRNQRQPSPPSOZVTPUZZZQLZRDOZZVPZXTVGVP",
	"BFZZZZWXVZXWZZXZZZZXXZXZXZZZPTTZZZZZZZTWXZZZO",
	"EGPNJQMQLQQOPOOMNUOQZXWUMZZZHJKXMZEZXSZZSUVZN",
	"GBZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZWZZVZZZUXZZZK",
	"JRPPOPNQLQPMPSMQLSQPZWXSURSVHIUZZZZYCOVZTUPHS",
	"BOZXQXYXSXXYYZYYWQQWZZYXYZZZMPZZMVZZMFMXQURNQ",
	"ONMLMMLMIMNINMLNMQNMVQONMQUVKFHUVZUUSZLGLMNZJ",
	"DFVWUZYVRXWUYZVZXZZYZZZZZZZZTUWKXINEPZOHSWWSL",
	"KIOLLNONLNKLNONOMOONWRRNRWWYNISMLFKNLVSGJRSUH",
	"HLOIMNNMGMNNMOMPNQPPVVQQPSWVLIQLOGMMNTTGOMSTI",
	"DIPOPQQQOPROPUNRQUPQZTVROVYZZKPTFPZXPXSPVYEPL",
	"FENNMNNLLMMMNQLNNOKOWOXOPVWZUOMPVMJLZKHNUURKK",
	"GGMMORJNLMPMIOMQOSSOZTRPRVXZKIJOLNTLSMNNNSRTF",
};

static size_t symbol_of(unsigned char c) {
	const char *found = c == '\0'              ? NULL
			    : c >= '0' && c <= '9' ? strchr(symbols, '0')
			    : c >= 'A' && c <= 'Z' ? strchr(symbols, 'A')
						   : strchr(symbols, c);

	return found == NULL ? SYMBOLS - 1 : (size_t)(found - symbols);
}

/* The part of a symbol that one of its bytes has. */
static double share(unsigned char c) {
	if (c >= '0' && c <= '9') {
		return c == '0' ? 0.25 : 0.75 / 9;
	}
	if (c >= 'A' && c <= 'Z') {
		return strchr("QXZJ", c) != NULL ? 0.006 : 0.976 / 22;
	}
	return symbol_of(c) == SYMBOLS - 1 ? 1 / OTHERS : 1;
}

/* chain[a][b]: how often b follows a. */
static double chain[256][256];

static void fill_chain(void) {
	for (unsigned a = 0; a < 256; a++) {
		for (unsigned b = 0; b < 256; b++) {
			char letter =
				after[symbol_of((unsigned char)a)][symbol_of((unsigned char)b)];
			double p = share((unsigned char)b);
			for (char l = 'A'; l < letter; l++) {
				p *= 0.70710678;
			}
			chain[a][b] = p;
		}
	}
}

static double frequency(unsigned char c) {
	return alone[symbol_of(c)] / 10000.0 * share(c);
}

double frequency_of(const struct leak_set *set) {
	double sum = 0;

	for (unsigned c = 0; c < 256; c++) {
		sum += leak_in(set, (unsigned char)c) ? frequency((unsigned char)c) : 0;
	}
	return sum;
}

static size_t members(const struct leak_set *set, unsigned char ret[256]) {
	size_t n = 0;

	for (unsigned c = 0; c < 256; c++) {
		ret[n] = (unsigned char)c;
		n += leak_in(set, (unsigned char)c);
	}
	return n;
}

double frequency_of_window(const struct leak_set sets[LEAK_WINDOW]) {
	unsigned char from[257], to[257];
	double have[256] = {0}, next[256] = {0}, sum = 0;
	size_t n = members(&sets[0], from);

	if (chain['a']['a'] == 0) {
		fill_chain();
	}
	for (size_t i = 0; i < n; i++) {
		have[i] = frequency(from[i]);
	}
	for (size_t k = 1; k < LEAK_WINDOW; k++) {
		size_t m = members(&sets[k], to);
		for (size_t j = 0; j < m; j++) {
			next[j] = 0;
			for (size_t i = 0; i < n; i++) {
				next[j] += have[i] * chain[from[i]][to[j]];
			}
		}
		memcpy(have, next, m * sizeof have[0]);
		memcpy(from, to, m);
		n = m;
	}
	for (size_t i = 0; i < n; i++) {
		sum += have[i];
	}
	return sum;
}
