// Text from outside on its way out. Names of files, of probes and of devices, and what a script says, may hold anything; a terminal
// must not take orders from them, and JSON is UTF-8.
#ifndef APP_PLAIN_H
#define APP_PLAIN_H

#include <stddef.h>
#include <stdio.h>

// How many bytes the letter takes with which a text begins: UTF-8, and no control character. 0 if it begins with something else.
size_t plain_letter(const char *text);

// Writes a text as letters of one line: a blank for line breaks and tabs, a question mark for whatever else is no letter.
void plain_write(FILE *file, const char *text);

#endif
