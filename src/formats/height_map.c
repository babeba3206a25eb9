// Height maps: a picture whose brightness is the height of the ground, by libpng.
#include "formats/voxels.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 30 };

#if WEIR_HAVE_PNG

#include <png.h>

enum { PIXELS_MOST = 1 << 26 };

// The picture on its way in. libpng leaves its functions by a jump, so everything it fills lies here and not in a function's variables.
typedef struct height_picture {
    const char *path;
    const uint8_t *at, *end;
    png_structp png;
    png_infop info;
    png_uint_32 width, height;
    int32_t channels, bits;
    uint8_t *pixels;
    png_bytep *rows;
    bool too_large, no_memory;
    char said[80];  // by libpng
} height_picture;

static void hand_bytes(png_structp png, png_bytep to, size_t size)
{
    height_picture *p = png_get_io_ptr(png);
    if (size > (size_t)(p->end - p->at)) png_error(png, "it ends too early");
    memcpy(to, p->at, size);
    p->at += size;
}

static void keep_error(png_structp png, png_const_charp message)
{
    height_picture *p = png_get_error_ptr(png);
    snprintf(p->said, sizeof p->said, "%s", message);
    png_longjmp(png, 1);
}

static void keep_silent(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

// Every kind of picture becomes grey or red, green and blue in 8 or 16 bits.
static void plain_pixels(height_picture *p)
{
    png_set_expand(p->png);
    png_set_strip_alpha(p->png);
    png_set_interlace_handling(p->png);
    png_read_update_info(p->png, p->info);
    p->channels = png_get_channels(p->png, p->info);
    p->bits = png_get_bit_depth(p->png, p->info);
}

static bool read_pixels(height_picture *p)
{
    if (setjmp(png_jmpbuf(p->png))) return false;
    png_set_read_fn(p->png, p, hand_bytes);
    png_set_user_limits(p->png, PIXELS_MOST, PIXELS_MOST);
    png_read_info(p->png, p->info);
    p->width = png_get_image_width(p->png, p->info);
    p->height = png_get_image_height(p->png, p->info);
    p->too_large = (uint64_t)p->width * p->height > PIXELS_MOST;
    if (p->too_large) return false;
    plain_pixels(p);
    size_t row = png_get_rowbytes(p->png, p->info);
    p->pixels = malloc(row * p->height);
    p->rows = malloc(p->height * sizeof *p->rows);
    p->no_memory = !p->pixels || !p->rows;
    if (p->no_memory) return false;
    for (png_uint_32 y = 0; y < p->height; y++) p->rows[y] = p->pixels + row * y;
    png_read_image(p->png, p->rows);
    png_read_end(p->png, NULL);
    return true;
}

// From 0 to 1: grey, or the mean of the colours.
static double brightness(const height_picture *p, int32_t x, int32_t y)
{
    const int32_t parts = p->channels >= 3 ? 3 : 1;
    const uint8_t *at = p->rows[y] + (size_t)x * (size_t)p->channels * (size_t)(p->bits / 8);
    uint32_t sum = 0;
    for (int32_t i = 0; i < parts; i++) sum += p->bits == 16 ? (uint32_t)at[2 * i] << 8 | at[2 * i + 1] : at[i];
    return (double)sum / (double)((p->bits == 16 ? 65535 : 255) * parts);
}

static void raise_ground(const height_picture *p, double scale, weir_voxels *voxels)
{
    for (int32_t z = 0; z < voxels->size.z; z++) {
        for (int32_t x = 0; x < voxels->size.x; x++) {
            double height = brightness(p, x, z) * scale;
            for (int32_t y = 0; y < voxels->size.y; y++) {
                double share = height - y > 1 ? 1 : height - y;
                if (share <= 0) break;
                voxels->values[voxels_place(voxels, x, y, z)] = (uint8_t)(255 * share + 0.5);
            }
        }
    }
}

static weir_status make_ground(const height_picture *p, const weir_voxels_def *def, weir_voxels *voxels)
{
    double scale = def && def->scale != 0 ? def->scale : WEIR_VOXELS_EDGE, highest = 0;
    if (!(scale > 0 && scale <= 1e6))
        return format_fail(WEIR_ERROR_ARGUMENT, "a height of %g cells for white; it must be above 0", scale);
    for (int32_t y = 0; y < (int32_t)p->height; y++) {
        for (int32_t x = 0; x < (int32_t)p->width; x++) {
            double height = brightness(p, x, y) * scale;
            if (height > highest) highest = height;
        }
    }
    double cells = (double)(int32_t)highest;
    if (cells < highest || cells == 0) cells++;
    weir_status status = voxels_make(p->path, def, p->width, cells, p->height, voxels);
    if (status == WEIR_OK) raise_ground(p, scale, voxels);
    return status;
}

static weir_status tell_failure(const height_picture *p)
{
    if (p->too_large) {
        return format_fail(WEIR_ERROR_LIMIT, "%s has %u x %u pixels; a height map has at most %d", weir_path_tail(p->path),
                           p->width, p->height, PIXELS_MOST);
    }
    if (p->no_memory || !p->png || !p->info)
        return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the pixels of %s", weir_path_tail(p->path));
    return format_fail(WEIR_ERROR_FORMAT, "%s: the picture cannot be read: %s", weir_path_tail(p->path), p->said);
}

weir_status height_map_read_bytes(const char *path, const uint8_t *bytes, size_t size, const weir_voxels_def *def,
                                  weir_voxels *voxels)
{
    *voxels = (weir_voxels){0};
    height_picture p = {.path = path, .at = bytes, .end = bytes + size};
    p.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &p, keep_error, keep_silent);
    p.info = p.png ? png_create_info_struct(p.png) : NULL;
    weir_status status = p.info && read_pixels(&p) ? make_ground(&p, def, voxels) : tell_failure(&p);
    png_destroy_read_struct(&p.png, &p.info, NULL);
    free(p.rows);
    free(p.pixels);
    return status;
}

#else

weir_status height_map_read_bytes(const char *path, const uint8_t *bytes, size_t size, const weir_voxels_def *def,
                                  weir_voxels *voxels)
{
    (void)bytes;
    (void)size;
    (void)def;
    *voxels = (weir_voxels){0};
    return format_fail(WEIR_ERROR_UNSUPPORTED, "cannot read %s: this build of Weir has no libpng (Debian: libpng-dev)",
                       weir_path_tail(path));
}

#endif

weir_status weir_height_map_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    uint8_t *bytes;
    size_t size;
    *voxels = (weir_voxels){0};
    weir_status status = file_read(path, FILE_MOST, &bytes, &size);
    if (status == WEIR_OK) status = height_map_read_bytes(path, bytes, size, def, voxels);
    free(bytes);
    return status;
}
