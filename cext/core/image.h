/* core/image: what an image is, and whether it is all there. */
#ifndef NL_CORE_IMAGE_H
#define NL_CORE_IMAGE_H

#include <stddef.h>
#include "base/error.h"

/* cuModuleLoadDataEx is given an address without a size and believes what the image says of itself:
 * one that was cut off would be read beyond its end. 0, or -1 with NL_ERR_VALUE. What the driver
 * makes of the contents is its own affair. */
int nl_image_check(const void *image, size_t size, nl_error *err);

#endif
