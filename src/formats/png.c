// Pictures as PNG, by libpng.
#include "formats/new_file.h"

#if WEIR_HAVE_PNG

#include <png.h>
#include <string.h>

// Fast rather than small: a film is many pictures.
enum { COMPRESSION = 3 };

static void write_bytes(png_structp png, png_bytep bytes, size_t size)
{
    new_file *f = png_get_io_ptr(png);
    new_file_write(f, bytes, size);
    if (ferror(f->file)) png_error(png, "");
}

// The file is flushed when it is closed.
static void flush_nothing(png_structp png)
{
    (void)png;
}

// libpng leaves its functions by a jump, so what is used after it is not kept in registers of this frame.
static bool write_rows(png_structp png, png_infop info, new_file *f, int32_t width, int32_t height, const uint8_t *rgb)
{
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_write_fn(png, f, write_bytes, flush_nothing);
    png_set_compression_level(png, COMPRESSION);
    png_set_filter(png, 0, PNG_FILTER_SUB);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int32_t y = 0; y < height; y++) png_write_row(png, rgb + (size_t)y * (size_t)width * 3);
    png_write_end(png, NULL);
    return true;
}

static void keep_silent(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void jump(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

weir_status weir_png_write(const char *path, int32_t width, int32_t height, const uint8_t *rgb)
{
    if (width < 1 || height < 1 || width > 65535 || height > 65535)
        return format_fail(WEIR_ERROR_ARGUMENT, "a picture of %d x %d; it must be from 1 to 65535 each way", width, height);
    new_file f;
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, jump, keep_silent);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool whole = info && write_rows(png, info, &f, width, height, rgb);
    png_destroy_write_struct(&png, &info);
    if (!whole && !ferror(f.file)) {
        new_file_close(&f, false);
        return format_fail(WEIR_ERROR_MEMORY, "memory ran out while writing a picture");
    }
    return new_file_close(&f, true);
}

bool weir_png_supported(void)
{
    return true;
}

#else

weir_status weir_png_write(const char *path, int32_t width, int32_t height, const uint8_t *rgb)
{
    (void)width;
    (void)height;
    (void)rgb;
    return format_fail(WEIR_ERROR_UNSUPPORTED, "cannot write %s: this build of Weir has no libpng (Debian: libpng-dev)",
                       weir_path_tail(path));
}

bool weir_png_supported(void)
{
    return false;
}

#endif
