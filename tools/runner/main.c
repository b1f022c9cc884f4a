#include "tools/runner/runner.h"

int main(void) { return serve(stdin, stdout); }
