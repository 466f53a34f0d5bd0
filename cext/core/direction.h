/* core/direction: the direction of a copy. */
#ifndef NL_CORE_DIRECTION_H
#define NL_CORE_DIRECTION_H

typedef enum { NL_HOST_TO_DEVICE, NL_DEVICE_TO_HOST, NL_DEVICE_TO_DEVICE } nl_direction;

#endif
