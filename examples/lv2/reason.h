/* Why a file was refused. */
#ifndef REASON_H
#define REASON_H

enum { REASON = 600 }; /* characters, with the zero behind them */

#endif
