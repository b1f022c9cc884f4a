// Windows, with names that do not hide those of C++.
#pragma once
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX // the C++ headers of MinGW define it
#define NOMINMAX
#endif
#include <windows.h>
