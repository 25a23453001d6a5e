/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A terminal's description for machines that have none: what most terminals obey, ECMA-48 and the modes of xterm. Made
 * from the text below by `tic -x -o DIR TEXT` and `TERMINFO=DIR infocmp -0 -Q2 gmt-basic`.
 *
 * gmt-basic|what most terminals obey: ECMA-48 and the modes of xterm,
 *     am, km, mir, msgr, xenl,
 *     cols#80, it#8, lines#24, colors#8, pairs#64,
 *     bel=^G, bold=\E[1m, dim=\E[2m, rev=\E[7m, sgr0=\E[0m,
 *     clear=\E[H\E[2J, cr=\r, cup=\E[%i%p1%d;%p2%dH, home=\E[H, ed=\E[J, el=\E[K,
 *     cub1=^H, cuf1=\E[C, cuu1=\E[A, cuu=\E[%p1%dA, cud=\E[%p1%dB, cuf=\E[%p1%dC, cub=\E[%p1%dD,
 *     civis=\E[?25l, cnorm=\E[?25h, smcup=\E[?1049h, rmcup=\E[?1049l,
 *     setaf=\E[3%p1%dm, setab=\E[4%p1%dm, op=\E[39;49m,
 */
#ifndef GPUMEMTRACE_SCREEN_BASIC_TERMINFO_H
#define GPUMEMTRACE_SCREEN_BASIC_TERMINFO_H

#define BASIC_TERMINFO_NAME "gmt-basic"
#define BASIC_TERMINFO \
	"b64:GgFDAA8ADwBpAagAZ210LWJhc2ljfHdoYXQgbW9zdCB0ZXJtaW5hbHMgb2JleTogRUNNQS00OCBhbmQgdGhlIG1vZGVzIG9m" \
	"IHh0ZXJtAAABAAABAAAAAQAAAAABAVAACAAYAP__________________________CABAAP__AAACAP____8EAAwAEAD_____FAD_" \
	"_yUAKQAwAP__MgA5AP__PQD__________________0EARgD__08A________VAD__________1kAXgD_____________________" \
	"____________________________________________________________________________________________________" \
	"______________________________________________________9nAP_______3AAeQD__4IA________________________" \
	"____________________________________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"_____________________________________________________________4sA____________________________________" \
	"____________________________________________________________________________________________________" \
	"__________________________-UAJ4ABwANABtbSBtbMkoAG1tLABtbSgAbWyVpJXAxJWQ7JXAyJWRIABtbSAAbWz8yNWwACAAb" \
	"Wz8yNWgAG1tDABtbQQAbWzFtABtbPzEwNDloABtbMm0AG1s3bQAbWzBtABtbPzEwNDlsABtbJXAxJWRCABtbJXAxJWREABtbJXAx" \
	"JWRDABtbJXAxJWRBABtbMzk7NDltABtbMyVwMSVkbQAbWzQlcDElZG0A"
#endif
