/* core/image: checks whether an image is complete. */
#ifndef NL_CORE_IMAGE_H
#define NL_CORE_IMAGE_H

#include <stddef.h>
#include "base/error.h"

/* Checks an image for cuModuleLoadDataEx, which has no size parameter: it relies on the lengths in
 * the image, and would read past the end of a truncated image. Returns 0, or -1 with NL_ERR_VALUE.
 * The check covers only the lengths in the image, not the other contents. */
int nl_image_check(const void *image, size_t size, nl_error *err);

#endif
