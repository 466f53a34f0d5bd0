// printf is built into NVRTC; a device has no other function of <stdio.h>.
#pragma once
