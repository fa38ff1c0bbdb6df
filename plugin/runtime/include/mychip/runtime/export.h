#pragma once

// Everything is compiled with hidden visibility; what another library of the package may call carries this mark.
#define MYCHIP_API __attribute__((visibility("default")))
