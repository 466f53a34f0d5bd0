/* <assert.h>: the prelude has assert. */
#pragma once
