#pragma once
#include "../host.h"
