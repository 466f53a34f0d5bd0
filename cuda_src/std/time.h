// clock and clock64 are built into NVRTC.
#pragma once
